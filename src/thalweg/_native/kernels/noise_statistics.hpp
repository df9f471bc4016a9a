// Statistics of a stream of samples with outliers: noise scale, size of codes, share kept.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/nan_order.hpp"
#include "kernels/rejection.hpp"

namespace thalweg {
namespace {

/// Factor of the variance that a sample without a fit suggests.
inline constexpr double misfit_variance = 4.0;
/// Share of the typical number of kept entries below which the basis does not learn from a fit.
inline constexpr double min_relative_share = 0.5;

/// Return the median of a few numbers, which are reordered.
inline double median(Vector<double> x) {
    const NanLast less;
    std::sort(x.data, x.data + x.size, less);
    const Index half = x.size / 2;
    return x.size % 2 != 0 ? x[half] : 0.5 * (x[half - 1] + x[half]);
}

/// Add the noise scale of one of the first samples; their median is the estimate.
inline void add_first_scale(RejectionStatistics& statistics, const RejectionFit& fit) {
    const Index n = static_cast<Index>(statistics.n_samples);
    double scales[warm_up_samples];
    const Vector<double> known{scales, n + 1};
    statistics.first_scales[n] = fit.scale;
    copy(statistics.first_scales.first(n + 1), known);
    const double scale = median(known);
    statistics.variance = scale * scale;
    statistics.weight += static_cast<double>(std::max(fit.spare, Index(1)));
}

/// Let the variance follow the squared residuals of the entries kept.
///
/// Logarithms are averaged: one sample of outliers alone would dominate a mean of variances for
/// long. A sample without a fit suggests a larger variance, and so does one whose low residuals
/// are above the noise scale: else a scale that rejects much would go on to reject more. With an
/// infinite weight the variance stays.
inline void update_variance(RejectionStatistics& statistics, const RejectionFit& fit,
                            double squares, const RejectionSettings& settings) {
    const double spare = static_cast<double>(fit.spare);
    double variance = statistics.variance;
    if (fit.spare > 0 && squares > 0.0) {
        // the mean logarithm of chi^2 / spare, to the second order
        const double bias = 1.0 / spare + 1.0 / (3.0 * spare * spare);
        variance = squares / (spare * settings.truncated_variance) * std::exp(bias);
    } else if (fit.spare <= 0) {
        variance *= misfit_variance;
    }
    variance = larger(fit.residuals.low * fit.residuals.low, variance);
    const double weight = fit.spare > 1 ? spare : 1.0;
    statistics.weight = settings.decay * statistics.weight + weight;
    if (variance > 0.0 && statistics.variance > 0.0)
        statistics.variance *=
            std::exp(std::log(variance / statistics.variance) * (weight / statistics.weight));
}

/// Count a sample, and return whether the basis may learn from it.
///
/// It may not while the noise scale is unknown, and not from a sample that keeps less than half of
/// the typical share: that is a wrong fit of a few entries.
inline bool accept(RejectionStatistics& statistics, const RejectionFit& fit, Index count, Index K,
                   double decay) {
    const bool warming_up = statistics.warming_up();
    statistics.n_samples += 1.0;
    const double rate = larger(1.0 - decay, 1.0 / statistics.n_samples);
    const double share =
        static_cast<double>(std::max(fit.spare, Index(0))) / static_cast<double>(count - K);
    const bool typical = share >= min_relative_share * statistics.kept_share;
    if (typical && fit.code_size > 0.0) {
        double& size = statistics.code_size;
        size = size == 0.0 ? fit.code_size : size * std::exp(std::log(fit.code_size / size) * rate);
    }
    statistics.kept_share += (share - statistics.kept_share) * rate;
    return fit.spare > 0 && typical && !warming_up;
}

}  // namespace
}  // namespace thalweg
