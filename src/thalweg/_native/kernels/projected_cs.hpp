// Samples as a subspace plus a few outliers: compressive sensing off the subspace (ReProCS, NORST).
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// Bound of the residual norm without outliers, and the smallest outlier: in units of the data, or
/// else in noise scales (times sqrt(n) for the norm of n entries).
struct SparseRecovery {
    double noise_bound;
    bool noise_bound_in_data_units;
    double support_threshold;
    bool support_threshold_in_data_units;
};

/// Running geometric mean of the noise scales of samples; the scale is 0 if unknown.
struct NoiseAverage {
    double scale;
    double n_samples;
};

/// Codes, outliers and median residuals of samples.
struct RecoveredSamples {
    Matrix<double> H;
    Matrix<double> R;
    Vector<double> error;
};

template <class Target>
struct ProjectedCsKernels {
    /// Set h and e = v - A'h to argmin |x|_1 over x and h, subject to |e - x| <= bound.
    ///
    /// x is the part of e beyond the limit that is returned, inf if x is 0. A has the basis
    /// vectors as rows.
    static double least_l1_outliers(Vector<const double> v, Matrix<const double> A, double bound,
                                    Vector<double> h, Vector<double> e);

    /// Separate the rows of V into P'h, outliers and noise, one after the other.
    ///
    /// Outliers of least l1 norm beyond the support threshold are the support; codes are least
    /// squares on the other entries, and the values of outliers are the residuals there. P has the
    /// vectors of an orthonormal basis as rows. The noise scale is averaged over `memory` samples;
    /// with 0 it stays as it is, and samples do not depend on one another.
    static void recover_sparse(Matrix<const double> V, Matrix<const bool> observed,
                               Matrix<const double> P, const SparseRecovery& problem, double memory,
                               NoiseAverage& noise, RecoveredSamples found);
};

}  // namespace thalweg
