// Atoms in elastic-net sets: projection, and block coordinate descent.
#pragma once

#include "kernels/constraints.hpp"
#include "support/array.hpp"

namespace thalweg {

/// Objective before a sweep, and its decrease.
struct SweepResult {
    double value;
    double decrease;
};

template <class Target, class T>
struct ElasticNetKernels {
    /// Set x to argmin_u |u - x|^2 over u >= 0 with l1 sum(u) + l2/2 sum(u^2) <= 1, or = 1.
    static void project(Vector<T> x, const ElasticNetSet& set);

    /// Lower <W W', A>/2 - <W, B> by one exact minimisation over each free row of W in the set.
    static SweepResult sweep(Matrix<const T> A, Matrix<const T> B, Matrix<T> W,
                             const ElasticNetSet& set, Vector<const bool> free);
};

}  // namespace thalweg
