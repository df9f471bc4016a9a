// The active-set method of Lawson and Hanson for nonnegative least squares.
#pragma once

#include "kernels/quadratic.hpp"
#include "kernels/subset_system.hpp"

namespace thalweg {
namespace {

/// Slopes below this share of the largest entry of c count as zero: systems may be
/// ill-conditioned. Safety margin.
constexpr double slope_rounding_share = 1e-11;

/// Minimises quadratics over h >= 0, with work arrays for K entries.
class ActiveSetMethod {
   public:
    explicit ActiveSetMethod(Index K) : index_(K), barred_(K) {}

    /// Minimise from zero; slower than pivoting, but works with dependent columns. Return whether
    /// the minimum is found; y is the gradient.
    bool solve(const Quadratic& q, NonnegativePoint point, SubsetSystem& system) {
        const Index K = point.h.size, max_steps = 3 * K + 10;
        fill(barred_.vector(), false);
        fill(point.h, 0.0);
        fill(point.passive, false);
        const double slack = slope_rounding_share * largest_modulus(q.c);
        for (Index step = 0; step < max_steps; ++step) {
            quadratic_gradient(q.G, q.c, point.h, point.y);
            const Index entering = steepest(point, slack);
            if (entering < 0) return true;
            point.passive[entering] = true;
            minimise_support(q, point, entering, system);
        }
        return false;
    }

   private:
    /// Return the entry outside of the support with the steepest slope, or -1.
    Index steepest(NonnegativePoint point, double slack) const {
        Index entering = -1;
        for (Index k = 0; k < point.h.size; ++k) {
            const bool usable = !point.passive[k] && !barred_[k] && point.y[k] < -slack;
            if (usable && (entering < 0 || point.y[k] < point.y[entering])) entering = k;
        }
        return entering;
    }

    /// Move to the minimum over the support, which loses entries that become zero.
    void minimise_support(const Quadratic& q, NonnegativePoint point, Index entering,
                          SubsetSystem& system) {
        for (bool reached = false; !reached;) {
            const auto index = index_.vector().first(select(point.passive, true, index_));
            const Index broken = system.solve(q.G, q.c, index);
            if (broken >= 0) {
                point.passive[index[broken]] = false;
                point.h[index[broken]] = 0.0;
                barred_[index[broken]] = true;
                continue;
            }
            reached = step_inside(point, index, system.solution(index.size));
            if (!point.passive[entering]) barred_[entering] = true;
        }
    }

    /// Move h towards x, the minimum over the support, until the first entry is zero, and drop what
    /// is zero; true if x is reached.
    static bool step_inside(NonnegativePoint point, Vector<const Index> index,
                            Vector<const double> x) {
        double step = 1.0;
        for (Index i = 0; i < index.size; ++i) {
            const double h = point.h[index[i]];
            if (x[i] <= 0.0) step = smaller(h > 0.0 ? h / (h - x[i]) : 0.0, step);
        }
        for (Index i = 0; i < index.size; ++i) {
            double& h = point.h[index[i]];
            h += step * (x[i] - h);
            if (x[i] <= 0.0 && h <= rounding_share * std::fabs(x[i])) {
                h = 0.0;
                point.passive[index[i]] = false;
            }
        }
        return step == 1.0;
    }

    Buffer<Index> index_;
    Buffer<bool> barred_;  // dependent columns
};

}  // namespace
}  // namespace thalweg
