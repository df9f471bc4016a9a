// The threshold of Huber's loss with which a fit to given residuals varies least.
#pragma once

#include "support/array.hpp"

namespace thalweg {

struct HuberThresholdSettings {
    /// Half the width of the window in which the density of residuals is taken.
    double bandwidth;
    /// Share by which a variance exceeds the least that counts as larger; half of it as half.
    double tolerance;
};

template <class Target, class T>
struct HuberThresholdKernels {
    /// Return the largest of evenly spaced thresholds whose variance is not larger than the least.
    ///
    /// The variance at the threshold c is E[min(|e|, c)^2] / P(|e| <= c)^2; sizes are the sorted
    /// |e|. P is the mean over thresholds within the bandwidth. Exceeding the least variance counts
    /// by degrees, so that no residual decides alone.
    static double huber_threshold(Vector<const T> sizes, Vector<const double> thresholds,
                                  const HuberThresholdSettings& settings);
};

}  // namespace thalweg
