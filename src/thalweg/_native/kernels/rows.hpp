// Features with a Gram matrix of their own: weighted Gram matrices, and descent on each row.
#pragma once

#include "support/array.hpp"

namespace thalweg {

template <class Target, class T>
struct RowKernels {
    /// Set grams[i] = keep grams[i] + share sum_j weights[i, j] x_j x_j', x_j the rows of X.
    static void weighted_grams(Matrix<const T> weights, Matrix<const T> X, T keep, T share,
                               Cube<T> grams);

    /// Lower w'A_f w / 2 - b_f'w in each row w >= lower of W, one entry after the other.
    ///
    /// `lower` has a bound for each column; columns that are not free stay as they are.
    static void sweep_rows(Cube<const T> A, Matrix<const T> B, Matrix<T> W, Vector<const T> lower,
                           Vector<const bool> free, Index sweeps);
};

}  // namespace thalweg
