// Matrix products by the BLAS of SciPy, through the pointers that it exports to Cython.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// The functions of BLAS that kernels use, in Fortran's convention.
template <class T>
struct Blas {
    using Gemm = void (*)(const char* transa, const char* transb, const int* m, const int* n,
                          const int* k, const T* alpha, const T* a, const int* lda, const T* b,
                          const int* ldb, const T* beta, T* c, const int* ldc);
    Gemm gemm = nullptr;
};

/// Set when the module is imported.
extern Blas<float> blas_float;
extern Blas<double> blas_double;

namespace {

template <class T>
const Blas<T>& blas() {
    if constexpr (sizeof(T) == sizeof(float))
        return blas_float;
    else
        return blas_double;
}

/// Set C = scale A B + keep C, where A and B are transposed if asked for.
template <class T>
void gemm(bool transpose_a, bool transpose_b, T scale, Matrix<const T> A, Matrix<const T> B, T keep,
          Matrix<T> C) {
    // Rows of ours are columns of Fortran's: C' = B' A'.
    const int m = static_cast<int>(C.cols), n = static_cast<int>(C.rows);
    const int k = static_cast<int>(transpose_a ? A.rows : A.cols);
    if (m == 0 || n == 0) return;
    // BLAS refuses strides of 0, which empty matrices have.
    const int lda = B.stride > 0 ? static_cast<int>(B.stride) : 1;
    const int ldb = A.stride > 0 ? static_cast<int>(A.stride) : 1;
    const int ldc = static_cast<int>(C.stride);
    const char plain = 'N', transposed = 'T';
    blas<T>().gemm(transpose_b ? &transposed : &plain, transpose_a ? &transposed : &plain, &m, &n,
                   &k, &scale, B.data, &lda, A.data, &ldb, &keep, C.data, &ldc);
}

/// Set C = A B.
template <class T>
void multiply(Matrix<const T> A, Matrix<const T> B, Matrix<T> C) {
    gemm<T>(false, false, T(1), A, B, T(0), C);
}

/// Set C = A'B.
template <class T>
void multiply_transposed(Matrix<const T> A, Matrix<const T> B, Matrix<T> C) {
    gemm<T>(true, false, T(1), A, B, T(0), C);
}

/// Set C = A B'.
template <class T>
void multiply_by_transposed(Matrix<const T> A, Matrix<const T> B, Matrix<T> C) {
    gemm<T>(false, true, T(1), A, B, T(0), C);
}

}  // namespace
}  // namespace thalweg
