// Statistics of single features and of successive samples, for scales and forgetting factors.
#pragma once

#include <cmath>

#include "kernels/petrels_types.hpp"
#include "kernels/rls.hpp"

namespace thalweg {
namespace {

/// Entries per code, beyond one, from which on the residuals of a sample describe the noise: with
/// fewer the codes follow much of it.
inline constexpr Index min_spare_per_code = 3;

/// Count the entries of a sample that are beyond their limits, and compare it with the latest one.
///
/// Sums over pairs of successive samples are those of 1, a, b, ab, a^2 and b^2, for the cosine a of
/// their residuals and the cosine b of their codes.
template <class T>
void add_sample(FeatureStatistics<T> features, Vector<const bool> observed,
                const CleanSample<T>& sample, double noise_scale) {
    const T scale = static_cast<T>(noise_scale);
    const Vector<T> last = features.last_residual, seen = features.counts[0],
                    kept = features.counts[1], beyond = features.counts[2];
    double product = 0.0, now = 0.0, before = 0.0;
    for (Index f = 0; f < observed.size; ++f) {
        const T clean = sample.clean[f], r = clean * sample.residual[f], old = last[f];
        const T size = r < T(0) ? -r : r;
        seen[f] += observed[f] ? T(1) : T(0);
        kept[f] += clean;
        beyond[f] += size > scale * features.limits[f] ? T(1) : T(0);
        product += static_cast<double>(r * old);
        now += static_cast<double>(r * r);
        before += static_cast<double>(old * old);
        last[f] = r;
    }
    const double codes = squared_norm(sample.w), last_codes = squared_norm(features.last_codes);
    double codes_product = 0.0;
    for (Index k = 0; k < sample.w.size; ++k)
        codes_product += static_cast<double>(sample.w[k] * features.last_codes[k]);
    copy(sample.w, features.last_codes);
    const double sizes = std::sqrt(now * before), code_sizes = std::sqrt(codes * last_codes);
    if (!(sizes > 0.0 && code_sizes > 0.0)) return;
    const double a = product / sizes, b = codes_product / code_sizes;
    const double terms[] = {1.0, a, b, a * b, a * a, b * b};
    for (Index i = 0; i < features.pair_sums.size; ++i) features.pair_sums[i] += terms[i];
}

}  // namespace
}  // namespace thalweg
