// Gram matrices of some rows, one for each sample, and inverses of definite matrices.
#pragma once

#include "support/array.hpp"

namespace thalweg {

template <class Target, class T>
struct GramKernels {
    /// Set grams[s] = sum of w_i w_i' over the rows w_i of W with selected[s, i].
    ///
    /// If most rows are selected, the others are subtracted from `whole`, the Gram matrix of all
    /// rows, unless a diagonal entry keeps less than `min_share` of itself: then cancellation
    /// would cost accuracy.
    static void subset_grams(Matrix<const T> W, Matrix<const bool> selected, Matrix<const T> whole,
                             T min_share, Cube<T> grams);

    /// Set inverses[s] = grams[s]^-1 for definite matrices.
    ///
    /// `trusted` are those whose condition number in the Frobenius norm is below the limit; the
    /// others may have no inverse.
    static void definite_inverses(Cube<const T> grams, T max_condition, Cube<T> inverses,
                                  Vector<bool> trusted);
};

}  // namespace thalweg
