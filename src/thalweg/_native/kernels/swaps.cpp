#include <limits>
#include <type_traits>

#include "kernels/double_sums.hpp"
#include "kernels/supports.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Columns of one task of the pool: some 50 to 100 microseconds for ten rows.
constexpr Index proposals_per_task = 4096;
constexpr Index pairs_per_task = 512;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Whether an entry is positive.
THALWEG_INLINE bool any_positive(double x) { return x > 0.0; }
template <int Bytes>
THALWEG_INLINE bool any_positive(Pack<double, Bytes> x) {
    return largest(x) > 0.0;
}

/// Best removal and addition at a place of the columns; rows are kept as numbers.
template <class Value>
struct Proposal {
    Value removed, cost, added, gain;

    THALWEG_INLINE explicit Proposal(Value like)
        : removed(spread(0.0, like)),
          cost(spread(infinity, like)),
          added(spread(0.0, like)),
          gain(spread(0.0, like)) {}

    THALWEG_INLINE void look_at(double row, double q, Value h, Value s) {
        const Value number = spread(row, h), zero = spread(0.0, h), none = spread(infinity, h);
        const Value price = where_above(h, zero, h * (q * h - 2.0 * s), none);
        removed = where_above(cost, price, number, removed);
        cost = where_above(cost, price, price, cost);
        if (!(q > 0.0)) return;
        const Value falling = where_above(zero, s, s, zero);
        const Value slope = where_above(h, zero, zero, falling);
        const Value square = slope * slope, best = gain * q;
        added = where_above(square, best, number, added);
        gain = where_above(square, best, square / q, gain);
    }
};

/// The columns of one task of swap_best_pairs.
struct PairColumns {
    Matrix<const double> Q;
    /// Of the diagonal of Q, zero where that is not positive.
    Vector<const double> inverse;
    Matrix<const double> S;
    Matrix<double> H;
};

/// The best pair at a place of the columns; rows are kept as numbers, -1 without a pair.
template <class Value>
struct BestPair {
    Value change, removed, added;

    /// Compare the removal of the positive entries h of row a with all additions.
    template <class At>
    THALWEG_INLINE void look_at(const PairColumns& columns, Index a, Value h, At at) {
        const auto& [Q, inverse, S, H] = columns;
        const Value zero = spread(0.0, h), none = spread(infinity, h);
        const Value price = where_above(h, zero, h * (Q(a, a) * h - 2.0 * at(S[a])), none);
        for (Index b = 0; b < Q.rows; ++b) {
            if (!(inverse[b] > 0.0)) continue;
            const Value slope = at(S[b]) - Q(a, b) * h;
            Value now = where_above(zero, slope, price - slope * slope * inverse[b], none);
            now = where_above(at(H[b]), zero, none, now);
            removed = where_above(change, now, spread(static_cast<double>(a), h), removed);
            added = where_above(change, now, spread(static_cast<double>(b), h), added);
            change = where_above(change, now, now, change);
        }
    }
};

/// Find the best pair of each column that gains more than min_gain: the rows to remove and to add.
void find_pairs(const PairColumns& columns, double min_gain, Vector<double> removed,
                Vector<double> added) {
    const Matrix<double> H = columns.H;
    auto find = [&](auto at) {
        const auto none = spread(-1.0, at(removed));
        BestPair<std::decay_t<decltype(none)>> best{spread(-min_gain, none), none, none};
        for (Index a = 0; a < H.rows; ++a) {
            const auto h = at(H[a]);
            if (any_positive(h)) best.look_at(columns, a, h, at);
        }
        at.store(removed, best.removed);
        at.store(added, best.added);
    };
    finish_each<double, register_bytes>(0, H.cols, find);
}

/// Swap the pairs that were found in the columns that are not busy; return their number.
Index take_pairs(const PairColumns& columns, Vector<const bool> busy, Vector<const double> removed,
                 Vector<const double> added) {
    const auto& [Q, inverse, S, H] = columns;
    Index count = 0;
    for (Index j = 0; j < H.cols; ++j) {
        if (busy[j] || removed[j] < 0.0) continue;
        const Index a = static_cast<Index>(removed[j]), b = static_cast<Index>(added[j]);
        const double slope = S(b, j) - Q(a, b) * H(a, j);
        H(a, j) = 0.0;
        H(b, j) = -slope * inverse[b];
        ++count;
    }
    return count;
}

}  // namespace

template <class Target>
void SwapKernels<Target>::propose_swaps(Vector<const double> diagonal, Matrix<const double> S,
                                        Matrix<const double> H, const SwapProposals& proposals) {
    parallel_blocks(H.cols, proposals_per_task, [&](Index begin, Index end) {
        interruption_point();
        const Buffer<double> removed(end - begin), added(end - begin);
        const Vector<double> cost = proposals.cost.slice(begin, end);
        const Vector<double> gain = proposals.gain.slice(begin, end);
        for_each<double>(end - begin, [&](auto at) {
            Proposal proposal(at(cost));
            for (Index k = 0; k < H.rows; ++k)
                proposal.look_at(static_cast<double>(k), diagonal[k], at(H[k].slice(begin, end)),
                                 at(S[k].slice(begin, end)));
            at.store(cost, proposal.cost);
            at.store(gain, proposal.gain);
            at.store(removed.vector(), proposal.removed);
            at.store(added.vector(), proposal.added);
        });
        copy(removed.vector(), proposals.removed.slice(begin, end));
        copy(added.vector(), proposals.added.slice(begin, end));
    });
}

template <class Target>
Index SwapKernels<Target>::swap_best_pairs(Matrix<const double> Q, Matrix<const double> S,
                                           Matrix<double> H, Vector<const bool> busy,
                                           double min_gain) {
    const Buffer<double> inverse(Q.rows);
    for (Index k = 0; k < Q.rows; ++k) inverse[k] = Q(k, k) > 0.0 ? 1.0 / Q(k, k) : 0.0;
    const Buffer<Index> counts((H.cols + pairs_per_task - 1) / pairs_per_task);
    parallel_blocks(H.cols, pairs_per_task, [&](Index begin, Index end) {
        interruption_point();
        const Buffer<double> removed(end - begin), added(end - begin);
        const PairColumns columns{Q, inverse.vector(), S.cols_between(begin, end),
                                  H.cols_between(begin, end)};
        find_pairs(columns, min_gain, removed, added);
        counts[begin / pairs_per_task] =
            take_pairs(columns, busy.slice(begin, end), removed.vector(), added.vector());
    });
    Index total = 0;
    for (Index i = 0; i < counts.vector().size; ++i) total += counts[i];
    return total;
}

template struct SwapKernels<Target>;

}  // namespace thalweg
