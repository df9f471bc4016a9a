// Normal equations G h = g of a few codes, in double precision.
#pragma once

#include <cmath>
#include <limits>

#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Share of the mean diagonal, in rounding errors, that is added to it, so that fewer entries than
/// codes have one solution, close to that of least norm.
inline constexpr double ridge_eps = 1e4;
/// Solutions with the ridge, each of the residual of those before.
inline constexpr int ridge_corrections = 3;

/// Return the ridge for rows of type T.
template <class T>
constexpr double relative_ridge() {
    return ridge_eps * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// A matrix G, of which the lower half is used, a gradient g, and a step: of K codes.
class NormalEquations {
   public:
    explicit NormalEquations(Index K)
        : memory_(2 * K * K + 3 * K),
          G(memory_.vector().data, K, K),
          g(memory_.vector().slice(K * K, K * K + K)),
          step(memory_.vector().slice(K * K + K, K * K + 2 * K)),
          factor_(memory_.vector().data + K * K + 2 * K, K, K),
          left_(memory_.vector().slice(2 * K * K + 2 * K, 2 * K * K + 3 * K)) {}

    /// Set x to the solution of G x = right; close to that of least norm if G is singular.
    ///
    /// It is found with a ridge: a share of the mean diagonal, or the prior precision if that is
    /// larger. Its effect on x is then removed as far as G allows: a bias, however small, would
    /// accumulate in a basis that codes are found with again and again. An eigenvalue e of G keeps
    /// the share 1 - (ridge / (ridge + e))^3 of its solution.
    template <class S>
    void solve(Vector<const double> right, double relative_ridge, double prior, Vector<S> x) const {
        const Index K = right.size;
        fill(x, S(0));
        double mean = 0.0;
        for (Index k = 0; k < K; ++k) mean += G(k, k) / static_cast<double>(K);
        if (!(mean > 0.0)) return;
        const double ridge = larger(prior, relative_ridge * mean);
        factorise(ridge);
        copy(right, left_);
        for (int i = 0; i < ridge_corrections; ++i) {
            substitute(left_);
            for (Index k = 0; k < K; ++k) {
                x[k] = static_cast<S>(static_cast<double>(x[k]) + left_[k]);
                left_[k] *= ridge;  // what the ridge has left of g
            }
        }
    }

    /// Set the step to the solution of G step = g.
    template <class T>
    void solve_step() const {
        solve<double>(g, relative_ridge<T>(), 0.0, step);
    }

    /// Return (G x)_k.
    template <class S>
    double product(Index k, Vector<S> x) const {
        double sum = 0.0;
        for (Index m = 0; m < x.size; ++m)
            sum += (m < k ? G(k, m) : G(m, k)) * static_cast<double>(x[m]);
        return sum;
    }

    /// Return h'G h over the mean eigenvalue of G: |h|^2 as far as the entries determine it.
    template <class S>
    double determined_size(Vector<S> h) const {
        double fitted = 0.0, trace = 0.0;
        for (Index k = 0; k < h.size; ++k) {
            const double code = static_cast<double>(h[k]);
            trace += G(k, k);
            fitted += G(k, k) * code * code;
            for (Index m = 0; m < k; ++m)
                fitted += 2.0 * G(k, m) * code * static_cast<double>(h[m]);
        }
        return trace > 0.0 ? larger(0.0, fitted) * static_cast<double>(h.size) / trace : 0.0;
    }

   private:
    /// Factorise G + ridge I = L diag(d) L', L below the diagonal d.
    void factorise(double ridge) const {
        const Matrix<double> A = factor_;
        for (Index j = 0; j < A.rows; ++j) {
            for (Index k = 0; k <= j; ++k) A(j, k) = G(j, k);
            A(j, j) += ridge;
        }
        for (Index j = 0; j < A.rows; ++j) {
            double pivot = A(j, j);
            for (Index k = 0; k < j; ++k) pivot -= A(j, k) * A(j, k) * A(k, k);
            A(j, j) = pivot = larger(0.5 * ridge, pivot);
            for (Index i = j + 1; i < A.rows; ++i) {
                double entry = A(i, j);
                for (Index k = 0; k < j; ++k) entry -= A(i, k) * A(j, k) * A(k, k);
                A(i, j) = entry / pivot;
            }
        }
    }

    /// Overwrite x by the solution of L diag(d) L' y = x.
    void substitute(Vector<double> x) const {
        const Matrix<double> A = factor_;
        for (Index i = 0; i < x.size; ++i) {
            double value = x[i];
            for (Index k = 0; k < i; ++k) value -= A(i, k) * x[k];
            x[i] = value;
        }
        for (Index i = 0; i < x.size; ++i) x[i] /= A(i, i);
        for (Index i = x.size - 1; i >= 0; --i) {
            double value = x[i];
            for (Index k = i + 1; k < x.size; ++k) value -= A(k, i) * x[k];
            x[i] = value;
        }
    }

    Buffer<double> memory_;

   public:
    const Matrix<double> G;
    const Vector<double> g;
    const Vector<double> step;

   private:
    const Matrix<double> factor_;
    const Vector<double> left_;
};

/// Return |x|^2.
template <class S>
double squared_norm(Vector<S> x) {
    double sum = 0.0;
    for (Index k = 0; k < x.size; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return sum;
}

/// Set x += step.
template <class S>
void add_step(Vector<const double> step, Vector<S> x) {
    for (Index k = 0; k < x.size; ++k) x[k] = static_cast<S>(static_cast<double>(x[k]) + step[k]);
}

}  // namespace
}  // namespace thalweg
