// Small systems of equations with a positive definite matrix, in double precision.
#pragma once

#include <cmath>

#include "support/array.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// The Cholesky factor of G + added I, and solutions with it.
///
/// Both triangles of the factor are kept, so that all loops add rows to vectors.
class DefiniteSystem {
   public:
    explicit DefiniteSystem(Index K) : lower_(K, K), upper_(K, K), inverse_(K), right_(K) {}

    /// Factor G + added I; G has its lower half. Pivots are at least `least`.
    void factor(Matrix<const double> G, double added, double least) {
        const Matrix<double> L = lower_, R = upper_;
        const Index K = G.rows;
        for (Index j = 0; j < K; ++j)
            for (Index i = j; i < K; ++i) R(j, i) = G(i, j);
        for (Index j = 0; j < K; ++j) {
            const double pivot = R(j, j) + added;
            const double root = std::sqrt(pivot < least ? least : pivot);
            inverse_[j] = 1.0 / root;
            for (Index i = j + 1; i < K; ++i) L(i, j) = R(j, i) = R(j, i) / root;
            for (Index i = j + 1; i < K; ++i)
                add<double>(-R(j, i), R[j].slice(i, K), R[i].slice(i, K));
        }
    }

    /// Set x to the solution for the right-hand side c.
    void solve(Vector<const double> c, Vector<double> x) const {
        const Matrix<double> L = lower_, R = upper_;
        const Vector<double> y = right_;
        const Index K = c.size;
        copy(c, y);
        for (Index j = 0; j < K; ++j) {
            y[j] *= inverse_[j];
            add<double>(-y[j], R[j].slice(j + 1, K), y.slice(j + 1, K));
        }
        for (Index j = K - 1; j >= 0; --j) {
            y[j] *= inverse_[j];
            add<double>(-y[j], L[j].first(j), y.first(j));
        }
        copy(y, x);
    }

   private:
    Buffer<double> lower_;
    Buffer<double> upper_;
    Buffer<double> inverse_;
    Buffer<double> right_;
};

}  // namespace
}  // namespace thalweg
