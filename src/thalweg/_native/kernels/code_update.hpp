// The update of normal codes by the evidence of a sample, and the small systems that it solves.
#pragma once

#include <cmath>

#include "support/array.hpp"
#include "support/buffer.hpp"

namespace thalweg {
namespace {

/// Set L to the Cholesky factor of A, the lower half; the upper half is 0. Return log det A.
inline double factorise(Matrix<const double> A, Matrix<double> L) {
    double log_determinant = 0.0;
    for (Index i = 0; i < A.rows; ++i) {
        for (Index j = 0; j <= i; ++j) {
            double sum = A(i, j);
            for (Index k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
            if (i == j) {
                L(i, i) = std::sqrt(sum);
                log_determinant += std::log(sum);
            } else {
                L(i, j) = sum / L(j, j);
            }
        }
        for (Index j = i + 1; j < A.rows; ++j) L(i, j) = 0.0;
    }
    return log_determinant;
}

/// Replace each column of X by the solution of L x = column.
inline void solve_lower(Matrix<const double> L, Matrix<double> X) {
    for (Index i = 0; i < L.rows; ++i) {
        for (Index k = 0; k < i; ++k)
            for (Index j = 0; j < X.cols; ++j) X(i, j) -= L(i, k) * X(k, j);
        for (Index j = 0; j < X.cols; ++j) X(i, j) /= L(i, i);
    }
}

/// Replace each column of X by the solution of L'x = column.
inline void solve_upper(Matrix<const double> L, Matrix<double> X) {
    for (Index i = L.rows - 1; i >= 0; --i) {
        for (Index k = i + 1; k < L.rows; ++k)
            for (Index j = 0; j < X.cols; ++j) X(i, j) -= L(k, i) * X(k, j);
        for (Index j = 0; j < X.cols; ++j) X(i, j) /= L(i, i);
    }
}

/// Set out = A B.
inline void multiply(Matrix<const double> A, Matrix<const double> B, Matrix<double> out) {
    for (Index i = 0; i < A.rows; ++i) {
        for (Index j = 0; j < B.cols; ++j) out(i, j) = 0.0;
        for (Index k = 0; k < A.cols; ++k)
            for (Index j = 0; j < B.cols; ++j) out(i, j) += A(i, k) * B(k, j);
    }
}

/// What a sample tells about its codes: A = W'R^-1 W and b = W'R^-1 y.
struct CodeEvidence {
    Matrix<const double> A;
    Vector<const double> b;
};

/// P = L (I + L'AL)^-1 L', with LL' the covariance before.
class CodeUpdate {
   public:
    explicit CodeUpdate(Index K) : K_(K), a_(K, K), b_(K, K), c_(K, K), left_(K), moved_(K) {}

    /// Set mean and covariance to those after the sample, and L to the factor of those before.
    /// Return the parts of -2 log-likelihood that depend on the codes.
    double operator()(const CodeEvidence& evidence, Vector<double> m, Matrix<double> P,
                      Matrix<double> L) const {
        const auto& [A, b] = evidence;
        factorise(P, L);
        multiply(A, L, a_);
        const double log_determinant = set_covariance(P, L);
        double square = 0.0;
        for (Index k = 0; k < K_; ++k) {
            double Am = 0.0;
            for (Index j = 0; j < K_; ++j) Am += A(k, j) * m[j];
            left_[k] = b[k] - Am;
            square += m[k] * (Am - 2.0 * b[k]);
        }
        for (Index k = 0; k < K_; ++k) {
            double moved = 0.0;
            for (Index j = 0; j < K_; ++j) moved += P(k, j) * left_[j];
            square -= left_[k] * moved;
            moved_[k] = moved;
        }
        for (Index k = 0; k < K_; ++k) m[k] += moved_[k];
        return log_determinant + square;
    }

   private:
    /// Set P from L, and from AL in a_; return log det(I + L'AL).
    double set_covariance(Matrix<double> P, Matrix<double> L) const {
        const Matrix<double> M = b_.matrix(), G = a_.matrix();
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) {
                double sum = i == j ? 1.0 : 0.0;
                for (Index k = i; k < K_; ++k) sum += L(k, i) * G(k, j);
                M(i, j) = sum;
            }
        const double log_determinant = factorise(M, c_);
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) G(i, j) = L(j, i);
        solve_lower(c_.matrix(), G);
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j <= i; ++j) {
                double sum = 0.0;
                for (Index k = 0; k < K_; ++k) sum += G(k, i) * G(k, j);
                P(i, j) = P(j, i) = sum;
            }
        return log_determinant;
    }

    Index K_;
    Buffer<double> a_, b_, c_, left_, moved_;
};

}  // namespace
}  // namespace thalweg
