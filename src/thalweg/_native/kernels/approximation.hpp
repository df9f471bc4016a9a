// Robust stochastic approximation: averaged gradient steps on the samples of a buffer, [R].
#pragma once

#include <cstdint>

#include "kernels/constraints.hpp"
#include "support/array.hpp"

namespace thalweg {

struct ApproximationSettings {
    /// Exponent of the beta-divergence: 2 squared l2, 1 Kullback-Leibler, 0 Itakura-Saito.
    double beta;
    /// Elastic-net weights on the atoms.
    double l1;
    double l2;
    /// Step size times largest gradient norm in the first step: theta times the diameter of C.
    double step_length;
    /// Leading atoms that stay as they are.
    Index frozen;
    /// tau of [R] (9).
    double tol;
    Index min_steps;
    Index max_steps;
};

/// Samples as rows of V, NaN at missing entries, with their codes as rows of H.
template <class T>
struct EncodedSamples {
    Matrix<const T> V;
    Matrix<const T> H;
    Matrix<const T> weights;  // of all entries, or without rows if all are 1
};

/// State that one buffer hands to the next.
struct ApproximationState {
    /// Of the generator of permutations.
    std::uint64_t seed;
    /// Largest norm of a gradient so far: M of [R].
    double gradient_bound;
};

template <class Target, class T>
struct ApproximationKernels {
    /// Lower the mean of d(v | W'h) + l1 sum(W) + l2/2 |W|^2 over atoms in their sets.
    ///
    /// [R] Algorithm 2 in the order of a random permutation; atoms are the rows of W, which becomes
    /// the average of the iterates. The gradient of a sample, e h', is never formed; atoms that a
    /// sample does not use stay where they are. Returned is the number of steps.
    static Index robust_approximation(EncodedSamples<T> samples, Matrix<T> W,
                                      ApproximationState& state, const AtomSets<T>& sets,
                                      const ApproximationSettings& settings);

    /// Set order to a random permutation of 0, ..., n - 1; the seed moves on.
    static void random_permutation(Vector<Index> order, std::uint64_t& seed);
};

}  // namespace thalweg
