// Minimisation of convex quadratics over the nonnegative orthant by block principal pivoting.
#pragma once

#include <concepts>

#include "kernels/active_set.hpp"
#include "kernels/quadratic.hpp"
#include "kernels/subset_system.hpp"

namespace thalweg {
namespace {

/// Exchanges of all infeasible entries without progress before Murty's rule is used: Kim and Park
/// (2011), 3.2.
constexpr int patience_of_exchanges = 3;

/// Minimises quadratics over h >= 0, with work arrays for K entries.
class NonnegativeSolver {
   public:
    explicit NonnegativeSolver(Index K) : system_(K), active_set_(K), index_(K) {}

    /// Minimise by block principal pivoting from the support in `point`; if that fails, by the
    /// active-set method. Return whether the minimum is found.
    bool solve(const Quadratic& q, NonnegativePoint point, Index max_pivots) {
        if (pivot(q, point, max_pivots)) return true;
        const bool solved = active_set_.solve(q, point, system_);
        quadratic_gradient(q.G, q.c, point.h, point.y);
        return solved;
    }

   private:
    /// Infeasible entries at most of which are accepted as rounding errors: h < -floor, y < -slack.
    struct Margins {
        double floor;
        double slack;
    };

    /// Block principal pivoting with Murty's rule as a guard; false if it fails.
    bool pivot(const Quadratic& q, NonnegativePoint point, Index max_pivots) {
        const Index K = point.h.size;
        Index fewest = K + 1;
        int patience = patience_of_exchanges;
        for (Index i = 0; i < max_pivots; ++i) {
            const auto held = index_.vector().first(select(point.passive, false, index_));
            const bool dual =
                q.trusted && 2 * held.size <= K && system_.solve(q.inverse, q.u, held) < 0;
            if (dual && set_dual_point(q, point, held)) return true;
            if (!dual && !set_primal_point(q, point)) return false;
            const Margins margins{-rounding_share * largest_modulus(point.h),
                                  -rounding_share * largest_modulus(q.c)};
            const Index wrong = count_infeasible(point, margins);
            if (wrong == 0) {
                for_each<double>(K, [&](auto at) THALWEG_INLINE_BODY {
                    at.store(point.h, larger(at.constant(0.0), at(point.h)));
                });
                return true;
            }
            patience = wrong < fewest ? patience_of_exchanges : patience - 1;
            fewest = wrong < fewest ? wrong : fewest;
            if (patience >= 0)
                exchange_all(point, margins);
            else
                exchange_last(point, margins);
        }
        return false;
    }

    /// Set the minimum over the support without signs from u = G^-1 c and the multipliers of the
    /// held entries, which solve G^-1[held, held] x = u[held]. Return whether it is feasible
    /// beyond doubt; then h is clipped.
    bool set_dual_point(const Quadratic& q, NonnegativePoint point, Vector<const Index> held) {
        const Vector<const double> x = system_.solution(held.size);
        Extent extent;
        for_each<double>(point.h.size, [&](auto at) THALWEG_INLINE_BODY {
            auto value = at(q.u);
            for (Index i = 0; i < held.size; ++i) value -= x[i] * at(q.inverse[held[i]]);
            at.store(point.h, value);
            at.store(point.y, at.constant(0.0));
            extent.add(value);
        });
        double steepest = 0.0;  // y = -x
        for (Index i = 0; i < held.size; ++i) steepest = larger(x[i], steepest);
        const double lowest = extent.lowest();
        const bool feasible =
            steepest == 0.0 && lowest <= rounding_share * larger(extent.highest(), lowest);
        if (feasible)
            for_each<double>(point.h.size, [&](auto at) THALWEG_INLINE_BODY {
                at.store(point.h, larger(at.constant(0.0), at(point.h)));
            });
        for (Index i = 0; i < held.size; ++i) {
            point.h[held[i]] = 0.0;
            point.y[held[i]] = -x[i];
        }
        return feasible;
    }

    /// Set the same point by the normal equations of the support; false if they are singular.
    bool set_primal_point(const Quadratic& q, NonnegativePoint point) {
        const auto index = index_.vector().first(select(point.passive, true, index_));
        if (system_.solve(q.G, q.c, index) >= 0) return false;
        const Vector<const double> x = system_.solution(index.size);
        for_each<double>(point.h.size, [&](auto at) THALWEG_INLINE_BODY {
            auto value = -at(q.c);
            for (Index i = 0; i < index.size; ++i) value += x[i] * at(q.G[index[i]]);
            at.store(point.h, at.constant(0.0));
            at.store(point.y, value);
        });
        for (Index i = 0; i < index.size; ++i) {
            point.h[index[i]] = x[i];
            point.y[index[i]] = 0.0;
        }
        return true;
    }

    /// Count the entries below the margins; h is zero outside of the support, and y inside.
    static Index count_infeasible(NonnegativePoint point, Margins margins) {
        return static_cast<Index>(sum<double>(point.h.size, [&](auto at) THALWEG_INLINE_BODY {
            return above(margins.floor, at(point.h)) + above(margins.slack, at(point.y));
        }));
    }

    /// Move the infeasible entries to the other side of the support.
    static void exchange_all(NonnegativePoint point, Margins margins) {
        for (Index k = 0; k < point.h.size; ++k)
            point.passive[k] ^= point.h[k] < margins.floor || point.y[k] < margins.slack;
    }

    /// Move the last of them only: Murty's rule, which terminates.
    static void exchange_last(NonnegativePoint point, Margins margins) {
        for (Index k = point.h.size - 1; k >= 0; --k)
            if (point.h[k] < margins.floor || point.y[k] < margins.slack) {
                point.passive[k] = !point.passive[k];
                return;
            }
    }

    SubsetSystem system_;
    ActiveSetMethod active_set_;
    Buffer<Index> index_;
};

}  // namespace
}  // namespace thalweg
