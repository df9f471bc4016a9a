// Projections onto elastic-net sets and boxes; sums are taken in double precision.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/constraints.hpp"
#include "kernels/double_sums.hpp"

namespace thalweg {
namespace {

// Iterations that find the active entries of a projection; three or four are usual.
constexpr int projection_iterations = 100;
// A sum of positive entries is exact up to this many rounding errors of one of them.
constexpr double sum_rounding_errors = 16.0;

/// Number, sum and sum of squares of the entries above a threshold.
struct ActiveSums {
    double count;
    double total;
    double squares;
};

template <class T>
ActiveSums active_sums(Vector<const T> x, T threshold) {
    const auto found = double_sums<T, 3>(x.size, [&](auto at, auto* sums) {
        const auto entry = at(x);
        const auto zero = spread(T(0), entry), limit = spread(threshold, entry);
        const auto value = widened(where_above(entry, limit, entry, zero));
        sums[0] += widened(above(entry, limit));
        sums[1] += value;
        sums[2] += value * value;
    });
    return {found[0], found[1], found[2]};
}

/// Set x to max(x - shift, 0) scale; return its sums.
template <class T>
ActiveSums shrink(Vector<T> x, T shift, T scale) {
    const auto found = double_sums<T, 2>(x.size, [&](auto at, auto* sums) {
        const auto entry = larger(spread(T(0), at(x)), at(x) - shift) * scale;
        at.store(x, entry);
        const auto value = widened(entry);
        sums[0] += value;
        sums[1] += value * value;
    });
    return {0.0, found[0], found[1]};
}

/// Set x to max(x - shift, 0); return number and sum of the positive entries.
template <class T>
ActiveSums lower_by(Vector<T> x, T shift) {
    const auto found = chunked_sums<T, 2>(x.size, [&](auto at, auto* sums) {
        const auto entry = larger(spread(T(0), at(x)), at(x) - shift);
        at.store(x, entry);
        sums[0] += above(entry, T(0));
        sums[1] += entry;
    });
    return {found[0], found[1], 0.0};
}

template <class T>
void multiply_by(Vector<T> x, T factor) {
    for_each<T>(x.size, [&](auto at) { at.store(x, at(x) * factor); });
}

template <class T>
double largest_entry(Vector<const T> x) {
    T top = x[0];
    for (Index i = 1; i < x.size; ++i) top = larger(x[i], top);
    return static_cast<double>(top);
}

/// Set x to the nearest vector >= 0 of the given sum, or at most that without equality.
///
/// Count and total are those of the positive entries. All active entries are lowered alike until
/// the sum is right, then again without those that fell to zero (Michelot, 1986). Only the first
/// time can they be raised; then all entries that may be active are.
template <class T>
void project_to_sum(Vector<T> x, double count, double total, double size, bool equality) {
    constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    if (x.size == 0) return;
    if (!equality && total <= size) {
        lower_by(x, T(0));
        return;
    }
    double excess = total - size;
    for (int i = 0; i < projection_iterations; ++i) {
        // Without a positive entry the largest one takes all.
        const double shift = count > 0.0 ? excess / count : largest_entry<T>(x) - size;
        const ActiveSums now = lower_by(x, static_cast<T>(shift));
        const bool same = now.count == count;
        count = now.count;
        total = now.total;
        excess = total - size;
        if (same) break;
    }
    // Far points lose digits in the difference: go back along the ray.
    if (std::fabs(excess) > sum_rounding_errors * epsilon * size)
        multiply_by(x, static_cast<T>(size / total));
}

/// Return the multiplier mu of the projection max(x - mu l1, 0) / (1 + mu l2) for l2 > 0.
///
/// For given active entries mu is the root of a quadratic; it is found again until the active
/// entries are those of mu.
template <class T>
double projection_multiplier(Vector<const T> x, const ElasticNetSet& set) {
    const double l1 = set.l1, l2 = set.l2;
    double mu = 0.0, before = -1.0;
    for (int i = 0; i < projection_iterations; ++i) {
        const ActiveSums active = active_sums<T>(x, static_cast<T>(mu * l1));
        if (active.count == before) break;
        const double excess = l1 * active.total + 0.5 * l2 * active.squares - 1.0;
        if (active.count == 0.0 && set.equality) {
            mu = largest_entry<T>(x) / l1 - 1.0 / (l1 * l1);  // the largest entry takes all at most
        } else if (before < 0.0 && !set.equality && excess <= 0.0) {
            break;
        } else {
            const double share = excess / (active.count * l1 * l1 + 2.0 * l2);
            mu = 2.0 * share / (1.0 + std::sqrt(1.0 + 2.0 * l2 * share));
        }
        before = active.count;
    }
    return mu;
}

/// Set x to the nearest vector of the set, by the KKT conditions.
template <class T>
void project_onto(Vector<T> x, const ElasticNetSet& set) {
    constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    if (x.size == 0) return;
    if (set.l2 == 0.0) {
        const ActiveSums active = active_sums<T>(x, T(0));
        project_to_sum(x, active.count, active.total, 1.0 / set.l1, set.equality);
        return;
    }
    const double mu = projection_multiplier<T>(x, set);
    const ActiveSums sums =
        shrink(x, static_cast<T>(mu * set.l1), static_cast<T>(1.0 / (1.0 + mu * set.l2)));
    const double linear = set.l1 * sums.total, square = 0.5 * set.l2 * sums.squares;
    if ((set.equality || mu > 0.0) && std::fabs(linear + square - 1.0) > epsilon) {
        // Far points lose digits in the difference: go back along the ray.
        const double factor = 2.0 / (linear + std::sqrt(linear * linear + 4.0 * square));
        multiply_by(x, static_cast<T>(factor));
    }
}

/// Set x to the nearest vector between lower and upper.
template <class T>
void clip(Vector<T> x, Vector<const T> lower, Vector<const T> upper) {
    for_each<T>(x.size,
                [&](auto at) { at.store(x, smaller(at(upper), larger(at(lower), at(x)))); });
}

/// Set x to the nearest vector in the set of atom k.
template <class T>
void project_atom(Vector<T> x, const AtomSets<T>& sets, Index k) {
    if (sets.is_box())
        clip(x, sets.lower[k], sets.upper[k]);
    else
        project_onto(x, sets.elastic_net);
}

}  // namespace
}  // namespace thalweg
