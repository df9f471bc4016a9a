// A basis that minimises the surrogate of all samples so far (online robust PCA).
#pragma once

#include "kernels/l1_tracking.hpp"
#include "kernels/robust_regression.hpp"

namespace thalweg {

/// Weight of earlier samples after each one, and sweeps over the basis for each sample.
struct SurrogateStep {
    double forgetting;
    Index sweeps;
};

/// The sums A of h h' and B of h (v - r)'.
template <class T>
struct SurrogateSums {
    Matrix<double> A;
    Matrix<T> B;
};

/// Running mean of the typical norms of samples, sqrt(F) times the median modulus of an entry.
struct SampleNorm {
    double mean;
    double n_samples;
};

template <class Target, class T>
struct SurrogateTrackingKernels {
    /// Minimise the surrogate of all samples so far over the basis after each row v of V.
    ///
    /// Codes h and outliers r of a sample minimise
    /// |v - U'h - r|^2 / 2 + ridge |h|^2 / 2 + outlier_weight norm |r|_1, and the basis
    /// <U U', A + ridge norm^2 I> / 2 - <U, B>. Missing entries of v are U'h in B. U has the basis
    /// vectors as rows.
    static void track_surrogate(Matrix<T> U, Matrix<const T> V, Matrix<const bool> observed,
                                const SurrogateStep& step, const RegressionProblem& problem,
                                SurrogateSums<T> sums, SampleNorm& norm, TrackedSamples<T> found);
};

}  // namespace thalweg
