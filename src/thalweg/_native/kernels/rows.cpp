#include "kernels/rows.hpp"

#include <cmath>

#include "support/blas.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Rows for one task of the pool.
constexpr Index rows_per_task = 64;

}  // namespace

template <class Target, class T>
void RowKernels<Target, T>::weighted_grams(Matrix<const T> weights, Matrix<const T> X, T keep,
                                           T share, Cube<T> grams) {
    parallel_blocks(weights.rows, rows_per_task, [&](Index begin, Index end) {
        const Buffer<T> scaled(X.rows, X.cols);
        for (Index i = begin; i < end; ++i) {
            interruption_point();
            for (Index j = 0; j < X.rows; ++j) {
                const T root = std::sqrt(share * weights(i, j));
                const Vector<const T> x = X[j];
                const Vector<T> target = scaled.matrix()[j];
                for_each<T>(x.size, [&](auto at) { at.store(target, root * at(x)); });
            }
            gemm<T>(true, false, T(1), scaled.matrix(), scaled.matrix(), keep, grams[i]);
        }
    });
}

template <class Target, class T>
void RowKernels<Target, T>::sweep_rows(Cube<const T> A, Matrix<const T> B, Matrix<T> W,
                                       Vector<const T> lower, Vector<const bool> free,
                                       Index sweeps) {
    parallel_blocks(W.rows, rows_per_task, [&](Index begin, Index end) {
        const Buffer<T> slope(W.cols);
        for (Index f = begin; f < end; ++f) {
            interruption_point();
            const Matrix<const T> gram = A[f];
            const Vector<T> w = W[f];
            for (Index k = 0; k < W.cols; ++k) slope[k] = B(f, k) - dot<T>(gram[k], w);
            for (Index sweep = 0; sweep < sweeps; ++sweep) {
                for (Index k = 0; k < W.cols; ++k) {
                    const T curvature = gram(k, k);
                    if (!free[k] || !(curvature > T(0))) continue;
                    const T moved = larger(w[k] + slope[k] / curvature, lower[k]);
                    const T step = moved - w[k];
                    if (step == T(0)) continue;
                    w[k] = moved;
                    add<T>(-step, gram[k], slope.vector());
                }
            }
        }
    });
}

template struct RowKernels<Target, float>;
template struct RowKernels<Target, double>;

}  // namespace thalweg
