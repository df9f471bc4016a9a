// The Moreau envelope of the l1 norm with bounds.
#pragma once

#include "kernels/l1_penalty.hpp"
#include "support/array.hpp"

namespace thalweg {

template <class Target, class T>
struct EnvelopeKernels {
    /// Split each row z of Z into outliers r and noise e = z - r, into the rows of E.
    ///
    /// r = argmin_r |z - r|^2/2 + weight |r|_1 subject to lower <= r <= upper; the minimum goes
    /// into `values`.
    static void envelope_l1(Matrix<const T> Z, L1Penalty penalty, Matrix<T> E, Vector<T> values);
};

}  // namespace thalweg
