// Sparse rows: codes under the Kullback-Leibler divergence, and models at the stored entries.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// Places of a sparse matrix of rows (CSR): row s has columns indices[indptr[s]], ....
template <class I>
struct SparsePlaces {
    Vector<const I> indptr;
    Vector<const I> indices;

    Index rows() const { return indptr.size - 1; }
};

struct SparseKLSettings {
    /// Constant of the model at each entry, as a share of the sum of the sample.
    double offset;
    /// Duality gap, relative to the divergence, at which a sample ends.
    double tol;
    Index max_steps;
};

/// Rows of codes with their divergences.
template <class T>
struct SparseKLCodes {
    Matrix<T> H;
    Vector<T> loss;
};

template <class Target, class T, class I>
struct SparseKLKernels {
    /// Set found to the entries of H W' at the places.
    static void sampled_products(SparsePlaces<I> places, Matrix<const T> W, Matrix<const T> H,
                                 Vector<T> found);

    /// Minimise mass'h - sum_i v_i log((W h)_i + offset sum(v)) over h >= 0, for sparse rows v.
    ///
    /// Expectation-maximisation from the rows of H, until the duality gap is below tol times the
    /// divergence: with y = v / p, and rho the largest entry of W'y / mass, y / rho is feasible for
    /// the dual problem. loss is set to the divergence, negative where the gap stayed larger. mass
    /// has one row for all samples, or one for each.
    static void sparse_kl_codes(SparsePlaces<I> places, Vector<const T> values, Matrix<const T> W,
                                Matrix<const T> mass, SparseKLCodes<T> codes,
                                const SparseKLSettings& settings);
};

}  // namespace thalweg
