// Outliers of least l1 norm, by a damped Newton method in the codes.
//
//     minimise |x|_1 over x and h, subject to |v - A'h - x| <= bound
//
// For given codes with residual e = v - A'h, the best x is the part of e beyond some limit, at
// which the clipped e has the norm `bound`. What remains is a convex function of the codes. Small
// bounds are approached in stages.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/definite_system.hpp"
#include "kernels/packed_rows.hpp"

namespace thalweg {
namespace {

// Ridge of the normal equations relative to the largest entry of the Gram matrix, and least pivot
// relative to that: fewer entries than codes leave the matrix singular.
inline constexpr double ridge_share = 1e-12, pivot_share = 1e-3;
// Share of the residual that the next stage has to explain, on the way to a small bound.
inline constexpr double stage_factor = 0.3;
inline constexpr int max_newton_steps = 200;  // safety margin: about ten are usual
inline constexpr int max_limit_steps = 100;   // safety margin: about five are usual
// Halvings of a step before another damping is tried, and with the largest damping.
inline constexpr int few_halvings = 4, most_halvings = 30;
inline constexpr double final_decrease = 1e-10;      // of the l1 norm, relative, promised by a step
inline constexpr double stage_decrease = 0.1;        // the same, at which a stage ends
inline constexpr double sufficient_decrease = 1e-4;  // share of the promise (Armijo)
inline constexpr double least_damping = 1e-6;
// Factors of the damping after a full step, and after a shorter one.
inline constexpr double damping_decrease = 0.03, damping_increase = 10.0;

using Doubles = Pack<double, row_bytes>;

/// Memory for one sample, and the steps to its outliers.
class LeastL1 {
   public:
    LeastL1(Index K, Index F)
        : residual_(padded<double>(F)),
          trial_(padded<double>(F)),
          weight_(padded<double>(F)),
          scaled_(padded<double>(F)),
          gram_(K, K),
          gradient_(K),
          inner_(K),
          step_(K),
          system_(K) {}

    /// The residual v - A'h of the codes of a sample.
    Vector<double> residual(const PackedSample<double>& sample) const {
        return residual_.vector().first(sample.v.size);
    }
    /// Weights of the entries of a sample in refit().
    Vector<double> weight(const PackedSample<double>& sample) const {
        return weight_.vector().first(sample.v.size);
    }

    /// Set h and the residual to where the outliers have the least l1 norm.
    ///
    /// Return the limit at which the residual is clipped; inf if there are no outliers.
    double solve(const PackedSample<double>& sample, double bound, Vector<double> h) {
        const Vector<double> e = residual(sample), next = trial_.vector().first(e.size);
        fill(weight(sample), 1.0);
        fill(h, 0.0);
        copy(sample.v, e);
        refit(sample, h);
        const double norm = std::sqrt(dot(e, e));
        if (norm <= bound || norm == 0.0) return std::numeric_limits<double>::infinity();
        double stage = largest(bound, stage_factor * norm), damping = least_damping;
        for (int i = 0; i < max_newton_steps; ++i) {
            const Descent descent = descend(sample, stage, damping);
            if (descent.step > 0.0) {
                copy(next, e);
                add<double>(descent.step, step_.vector(), h);
            }
            if (stage == bound) {
                if (descent.promise <= final_decrease || (descent.step == 0.0 && damping == 1.0))
                    break;
            } else if (descent.step == 1.0 || descent.promise <= stage_decrease) {
                stage = largest(bound, stage_factor * stage);
            }
            damping = descent.step == 1.0 ? largest(damping_decrease * damping, least_damping)
                                          : least(damping_increase * damping, 1.0);
        }
        return clipping_limit(e, sample.count, bound);
    }

    /// Set h to weighted least squares, refined once, and the residual, which is that of h before.
    void refit(const PackedSample<double>& sample, Vector<double> h) {
        const Vector<double> e = residual(sample);
        for (int i = 0; i < 2; ++i) {
            normal_equations(sample, e, gradient_);
            solve_system(gradient_.vector(), step_);
            add<double>(1.0, step_.vector(), h);
            subtract_combination<double>(sample.U, h, sample.v, e);
        }
    }

   private:
    /// A step along the direction, 0 if none descends, and the relative decrease it promised.
    struct Descent {
        double step;
        double promise;
    };

    static double largest(double x, double y) { return y > x ? y : x; }
    static double least(double x, double y) { return y < x ? y : x; }

    /// Return the number at which e has to be clipped to have the norm `bound`, below its own.
    ///
    /// The square of the clipped norm is concave and piecewise linear in the square of the limit:
    /// Newton's method from the left ends after as many steps as pieces are met.
    static double clipping_limit(Vector<const double> e, Index count, double bound) {
        double square = bound * bound / static_cast<double>(count), last = -1.0;
        for (int i = 0; i < max_limit_steps; ++i) {
            Doubles sums = Doubles::fill(0.0), beyond = sums;
            for (Index j = 0; j < e.size; j += Doubles::lanes) {
                const Doubles value = Place<Doubles>{j}(e), own = value * value;
                sums += smaller(Doubles::fill(square), own);
                beyond += above(own, square);
            }
            const double number = total(beyond);
            if (number == 0.0 || number == last) break;
            square += (bound * bound - total(sums)) / number;
            last = number;
        }
        return std::sqrt(square);
    }

    /// Return the l1 norm of the part of e beyond +-limit.
    static double excess(Vector<const double> e, double limit) {
        return sum<double>(e.size, [&](auto at) { return larger(modulus(at(e)) - limit, 0.0); });
    }

    /// Set the lower half of the Gram matrix to A diag(weight) A', and g to A (weight y).
    void normal_equations(const PackedSample<double>& sample, Vector<const double> y,
                          Vector<double> g) {
        const Matrix<double> G = gram_;
        const Vector<double> w = weight(sample), scaled = scaled_.vector().first(w.size);
        for (Index k = 0; k < G.rows; ++k) {
            const Vector<const double> a = sample.U[k];
            for_each_pack<double>(w.size, [&](auto at) { at.store(scaled, at(w) * at(a)); });
            g[k] = dot<double>(scaled, y);
            project<double>(sample.U.rows_between(0, k + 1), scaled, G[k].first(k + 1));
        }
    }

    /// Solve G x = c for the positive semidefinite Gram matrix.
    void solve_system(Vector<const double> c, Vector<double> x) {
        double top = 0.0;
        for (Index k = 0; k < c.size; ++k) top = largest(top, gram_.matrix()(k, k));
        if (top == 0.0) return fill(x, 0.0);
        const double ridge = ridge_share * top;
        system_.factor(gram_.matrix(), ridge, pivot_share * ridge);
        system_.solve(c, x);
    }

    /// Set the step of Newton's method, damped; return the decrease of the l1 norm it promises.
    ///
    /// With I the entries within the limit, O the others and a = A_I e_I, the gradient of the l1
    /// norm is -A clip(e) / limit, and its second derivative
    /// (A_I A_I' + a a' / (limit^2 |O|)) / limit. Reweighted least squares has weights of
    /// limit / |e| in O instead, and always descends. A share of these weights is the damping.
    double direction(const PackedSample<double>& sample, double limit, double damping) {
        const Vector<double> e = residual(sample), w = weight(sample);
        const Vector<double> a = inner_, g = gradient_;
        constexpr double smallest = std::numeric_limits<double>::min();
        Doubles beyond = Doubles::fill(0.0);
        for (Index i = 0; i < e.size; i += Doubles::lanes) {
            const Place<Doubles> at{i};
            const Doubles size = modulus(at(e)), out = above(size, limit);
            const Doubles divisor = larger(larger(size, limit), smallest);  // never 0
            at.store(w, (1.0 - out) + out * (damping * limit / divisor));
            beyond += out;
        }
        normal_equations(sample, e, a);
        const Vector<double> clip = scaled_.vector().first(e.size);
        for_each_pack<double>(e.size, [&](auto at) {
            const auto value = at(e);
            using Value = std::remove_const_t<decltype(value)>;
            at.store(clip, smaller(Value::fill(limit), larger(Value::fill(-limit), value)));
        });
        project<double>(sample.U, clip, g);
        const double number = largest(total(beyond), 1.0);
        for (Index k = 0; k < g.size; ++k)
            a[k] = damping < 1.0 ? (a[k] - damping * g[k]) / (1.0 - damping) : 0.0;
        for (Index k = 0; k < g.size; ++k)
            for (Index j = 0; j <= k; ++j)
                gram_.matrix()(k, j) += a[k] * a[j] / (limit * limit * number);
        solve_system(g, step_);
        return dot(g, step_.vector()) / limit;
    }

    /// Find a step that descends enough, and set the residual after it as the trial.
    Descent descend(const PackedSample<double>& sample, double bound, double damping) {
        const Vector<double> e = residual(sample), next = trial_.vector().first(e.size);
        const double limit = clipping_limit(e, sample.count, bound), value = excess(e, limit);
        const double promise = direction(sample, limit, damping);
        const Vector<double> scaled = inner_;
        double step = 1.0;
        // A step that has to be cut a lot is not worth making, unless it is the last resort.
        for (int i = 0; i < (damping < 1.0 ? few_halvings : most_halvings); ++i) {
            for (Index k = 0; k < scaled.size; ++k) scaled[k] = step * step_[k];
            subtract_combination<double>(sample.U, scaled, e, next);
            const double reached = excess(next, clipping_limit(next, sample.count, bound));
            if (reached <= value - sufficient_decrease * step * promise)
                return {step, promise / value};
            step *= 0.5;
        }
        return {0.0, promise / value};
    }

    Buffer<double> residual_;
    Buffer<double> trial_;
    Buffer<double> weight_;
    Buffer<double> scaled_;
    Buffer<double> gram_;
    Buffer<double> gradient_;
    Buffer<double> inner_;
    Buffer<double> step_;
    DefiniteSystem system_;
};

}  // namespace
}  // namespace thalweg
