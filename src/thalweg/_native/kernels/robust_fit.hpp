// Codes of one sample by least squares, and by robust regression with ADMM.
#pragma once

#include <limits>

#include "kernels/definite_system.hpp"
#include "kernels/packed_rows.hpp"
#include "kernels/robust_regression.hpp"

namespace thalweg {
namespace {

/// Share of its mean diagonal, in units of the rounding error, that makes a Gram matrix definite.
inline constexpr double ridge_eps = 1e3;
/// Residuals below this many rounding errors of the sample have no direction.
inline constexpr double residual_eps = 8.0;

template <class T>
inline constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// Return the entries limited to [-bound, bound]; NaN stays NaN.
template <class T, class Value>
THALWEG_INLINE Value clipped(Value x, T bound) {
    return smaller(Value::fill(bound), larger(Value::fill(-bound), x));
}

/// Solutions of samples one after the other, with memory for one.
template <class T>
class RobustFit {
   public:
    RobustFit(Index K, Index F)
        : h_(K),
          rounded_(K),
          residual_(padded<T>(F)),
          slope_(padded<T>(F)),
          target_(part_size),
          gram_(K, K),
          least_squares_(K),
          weighted_(K),
          products_(K),
          step_(K) {}

    Vector<double> codes() const { return h_; }
    /// The codes in the type of the data.
    Vector<const T> rounded() const { return rounded_.vector(); }
    /// v - U'h at the observed entries of the sample.
    Vector<T> residual(const PackedSample<T>& sample) const {
        return residual_.vector().first(sample.v.size);
    }
    /// The slope of the loss at the residual, in [-1, 1].
    Vector<T> slope(const PackedSample<T>& sample) const {
        return slope_.vector().first(sample.v.size);
    }

    /// Set the codes to argmin_h |v - U'h|^2 / 2 + ridge |h|^2 / 2.
    ///
    /// A second solution, for the residual of the first, removes most of the ridge that is there
    /// for rounding only. With `same_basis`, the basis and the ridge are those of the last sample.
    void least_squares(const PackedSample<T>& sample, double ridge, bool same_basis = false) {
        if (!same_basis) {
            mean_diagonal_ = gram(sample.U, gram_.matrix());
            factor(ridge, least_squares_);
        }
        const Vector<T> r = residual(sample);
        fill(h_.vector(), 0.0);
        copy(sample.v, r);
        for (int i = 0; i < 2; ++i) {
            project<T>(sample.U, r, products_);
            add<double>(-ridge, h_.vector(), products_.vector());
            least_squares_.solve(products_.vector(), step_);
            add<double>(1.0, step_.vector(), h_.vector());
            update_residual(sample);
        }
    }

    /// Set the codes to the minimum of RegressionProblem; return whether it was reached.
    bool robust(const PackedSample<T>& sample, const RegressionProblem& problem,
                bool same_basis = false) {
        least_squares(sample, problem.ridge, same_basis);
        const double size = mean_modulus<T>(residual(sample), sample.count);
        fill(slope(sample), T(0));
        if (size <= residual_eps * epsilon<T> * mean_modulus<T>(sample.v, sample.count))
            return true;
        const double threshold = problem.outlier_weight;
        double weight = problem.rho / size;
        Loss loss{T(1), T(1.0 / weight), T(0), T(1) / std::numeric_limits<T>::min()};
        double first = 1.0;
        if (threshold > 0.0) {
            weight = weight * threshold > 1.0 ? 1.0 : weight * threshold;
            first = 1.0 / weight;
            loss = {T(1.0 / (1.0 + weight)), T(threshold / weight), T(threshold),
                    T(1.0 / threshold)};
        }
        const double ridge = problem.ridge / weight;
        if (ridge > 0.0) factor(ridge, weighted_);
        start_dual(sample, T(first), loss.bound);
        const DefiniteSystem& system = ridge > 0.0 ? weighted_ : least_squares_;
        const bool solved = iterate(sample, problem, ridge, loss, system);
        update_residual(sample);
        const Vector<T> dual = slope(sample);
        for_each_pack<T>(dual.size, [&](auto at) { at.store(dual, at(dual) / loss.bound); });
        return solved;
    }

   private:
    /// Prox of the loss, |r| or Huber's function: gain and bound of the dual step, the Huber
    /// threshold (0 for |r|), and the steepness 1 / threshold of its derivative.
    struct Loss {
        T gain, bound, threshold, steepness;
    };
    /// Sums over the entries: the loss, its excess over the dual (Fenchel and Young), |dual|^2.
    struct Sums {
        double loss = 0.0, excess = 0.0, square = 0.0;
    };

    void factor(double ridge, DefiniteSystem& system) {
        const double least = mean_diagonal_ > 0.0 ? ridge_eps * epsilon<T> * mean_diagonal_ : 1.0;
        system.factor(gram_.matrix(), ridge + least, ridge + least);
    }

    void update_residual(const PackedSample<T>& sample) {
        copy(h_.vector(), rounded_.vector());
        subtract_combination<T>(sample.U, rounded_.vector(), sample.v, residual(sample));
    }

    void start_dual(const PackedSample<T>& sample, T first, T bound) {
        const Vector<T> r = residual(sample), dual = slope(sample);
        for_each_pack<T>(dual.size,
                         [&](auto at) { at.store(dual, clipped<T>(first * at(r), bound)); });
    }

    /// Take one step of ADMM at some entries, where `residual` is v - U'h.
    ///
    /// All that is kept is the scaled dual with its sign turned: of residual + dual, the new dual
    /// is the part that the prox of the loss removes. `target` is what the next codes have to fit.
    static Sums step_dual(const Loss& loss, Vector<const T> residual, Vector<T> dual,
                          Vector<T> target) {
        using Value = Pack<T, row_bytes>;
        const T scale = T(1) / loss.bound, half = T(0.5);
        Value losses = Value::fill(T(0)), excesses = losses, squares = losses;
        for (Index i = 0; i < residual.size; i += Value::lanes) {
            const Place<Value> at{i};
            const Value r = at(residual), before = at(dual), size = modulus(r);
            const Value now = clipped<T>(loss.gain * (r + before), loss.bound);
            at.store(target, now + now - before);
            at.store(dual, now);
            const Value slope = smaller(Value::fill(T(1)), loss.steepness * size);
            const Value y = now * scale;
            const Value value = slope * (size - half * loss.threshold * slope);
            losses += value;
            excesses += value + half * loss.threshold * y * y - y * r;
            squares += now * now;
        }
        return {double(total(losses)), double(total(excesses)), double(total(squares))};
    }

    /// Improve codes and dual by ADMM until they nearly are a primal-dual pair.
    bool iterate(const PackedSample<T>& sample, const RegressionProblem& problem, double ridge,
                 const Loss& loss, const DefiniteSystem& system) {
        const Vector<double> h = h_, c = products_;
        const double tol = problem.tol;
        for (Index iteration = 0; iteration < problem.max_iter; ++iteration) {
            for (Index k = 0; k < h.size; ++k) c[k] = -ridge * h[k];
            copy(h, rounded_.vector());
            Sums sums;
            for_each_part(sample.v.size, [&](Index begin, Index end) {
                const Sums part = step_part(sample, loss, begin, end);
                sums.loss += part.loss;
                sums.excess += part.excess;
                sums.square += part.square;
            });
            system.solve(c, step_);
            add<double>(1.0, step_.vector(), h);
            if (tol > 0.0 && sums.excess <= tol * sums.loss &&
                dot<double>(c, c) <= tol * tol * mean_diagonal_ * sums.square)
                return true;
        }
        return false;
    }

    /// Do one step at some entries, and add the products of the basis with the new target.
    Sums step_part(const PackedSample<T>& sample, const Loss& loss, Index begin, Index end) {
        const Matrix<const T> U = sample.U.cols_between(begin, end);
        const Vector<T> r = residual_.vector().slice(begin, end);
        const Vector<T> target = target_.vector().first(end - begin);
        subtract_combination<T>(U, rounded_.vector(), sample.v.slice(begin, end), r);
        const Sums sums = step_dual(loss, r, slope_.vector().slice(begin, end), target);
        add_products<T>(U, target, products_);
        return sums;
    }

    Buffer<double> h_;
    Buffer<T> rounded_;
    Buffer<T> residual_;
    Buffer<T> slope_;
    Buffer<T> target_;
    Buffer<double> gram_;
    DefiniteSystem least_squares_;
    DefiniteSystem weighted_;
    Buffer<double> products_;
    Buffer<double> step_;
    double mean_diagonal_ = 0.0;
};

}  // namespace
}  // namespace thalweg
