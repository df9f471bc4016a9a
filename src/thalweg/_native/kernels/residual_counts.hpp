// Counts of residuals by size, on a logarithmic grid for each feature.
#pragma once

#include <cstdint>

#include "support/array.hpp"

namespace thalweg {

/// Bins of a factor of two, and of a feature.
inline constexpr Index bins_per_octave = 4;
inline constexpr Index n_bins = 48;

/// The fit of a batch: one row for each sample.
template <class T>
struct FittedSamples {
    Matrix<const T> X;
    /// Observed entries; no data if all are.
    Matrix<const bool> mask;
    Matrix<const T> predicted;
    /// Codes; those that are 0 predict nothing.
    Matrix<const T> H;
    /// Outliers, which were not fitted.
    Matrix<const T> R;
    /// Variance of the prediction of an entry from the others of a full sample, in units of the
    /// noise.
    Vector<const double> prediction_variance;
};

/// Number of the first bin and counts of each feature.
struct SizeCounts {
    Vector<std::int64_t> first;
    Matrix<float> counts;
    /// What a residual adds.
    float weight;
};

template <class Target, class T>
struct ResidualCountKernels {
    /// Count the standardised residuals of a batch.
    static void count_residuals(const FittedSamples<T>& samples, const SizeCounts& sizes);
};

}  // namespace thalweg
