// Nonnegative least squares in Gram space.
#pragma once

#include "kernels/gram_matrices.hpp"
#include "support/array.hpp"

namespace thalweg {

template <class Target, class T>
struct NnlsKernels {
    /// The solutions of nonnegative_codes: supports before (if guessed) and after.
    struct Solutions {
        Matrix<T> H;
        Matrix<bool> passive;
        Vector<bool> solved;
    };

    /// Set h = argmin_{h >= 0} h'Gh/2 - c'h for each row c of C.
    ///
    /// At most `max_pivots` steps of block principal pivoting, from the support in `passive` if it
    /// is `guessed`; then an active-set method.
    static void nonnegative_codes(const GramMatrices& gram, Matrix<const T> C, bool guessed,
                                  Solutions found, Index max_pivots);
};

}  // namespace thalweg
