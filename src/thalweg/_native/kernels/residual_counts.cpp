#include "kernels/residual_counts.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Residuals below this many rounding errors of the entry count as one of that size.
constexpr double rounding_errors = 4.0;
/// First bin of a feature without residuals.
constexpr std::int64_t unplaced = std::numeric_limits<std::int64_t>::min();
/// Bin of an entry that does not count.
constexpr std::int64_t no_bin = std::numeric_limits<std::int64_t>::min();
/// Features whose counts stay in the cache while all samples are counted.
constexpr Index features_per_block = 64;
/// Entries of one task of the pool, about: some 50 microseconds.
constexpr Index entries_per_task = Index(1) << 15;

constexpr std::uint64_t fraction_mask = (std::uint64_t(1) << 52) - 1;

/// Return floor(2 log2 x) of a positive normal number: a bin of its square root.
THALWEG_INLINE std::int64_t bin_of_square(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto half = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp+0) & fraction_mask;
    const auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    return 2 * exponent + ((bits & fraction_mask) >= half ? 1 : 0);
}

/// Return the factor of the prediction variance in a sample; negative if any codes fit it.
template <class T>
double variance_factor(const FittedSamples<T>& samples, Index b) {
    Index n_codes = 0, n_fitted = 0;
    for (Index k = 0; k < samples.H.cols; ++k) n_codes += samples.H(b, k) != T(0) ? 1 : 0;
    const bool masked = samples.mask.data != nullptr;
    for (Index f = 0; f < samples.X.cols; ++f)
        n_fitted += samples.R(b, f) == T(0) && (!masked || samples.mask(b, f)) ? 1 : 0;
    if (n_fitted <= n_codes) return -1.0;
    const double share_of_codes =
        static_cast<double>(n_codes) / static_cast<double>(samples.H.cols);
    return share_of_codes * static_cast<double>(samples.X.cols) / static_cast<double>(n_fitted);
}

/// Write the bins of some entries of a sample.
template <class T>
void write_bins(const FittedSamples<T>& samples, Index b, Index begin, Index end, double factor,
                Vector<std::int64_t> bins) {
    const double resolution =
        rounding_errors * static_cast<double>(std::numeric_limits<T>::epsilon());
    const double least = std::numeric_limits<double>::min();
    const double known = factor >= 0.0 ? 1.0 : 0.0, positive = factor >= 0.0 ? factor : 0.0;
    const T *x = samples.X[b].data, *p = samples.predicted[b].data, *r = samples.R[b].data;
    for (Index f = begin; f < end; ++f) {
        const double variance = 1.0 + samples.prediction_variance[f] * positive;
        const auto residual = known * static_cast<double>(x[f] - p[f]);
        const double floor = resolution * static_cast<double>(x[f]);
        const double square = residual * residual * (r[f] == T(0) ? variance : 1.0 / variance);
        const double size = square >= floor * floor ? square : floor * floor;
        bins[f - begin] = size >= least ? bin_of_square(size) : no_bin;
    }
}

/// Add the entries of a sample to the counts.
template <class T>
void count_bins(const FittedSamples<T>& samples, Index b, Index begin, Index end,
                Vector<const std::int64_t> bins, const SizeCounts& sizes) {
    for (Index f = begin; f < end; ++f) {
        const std::int64_t bin = bins[f - begin];
        const bool missing = samples.mask.data != nullptr && !samples.mask(b, f);
        if (missing || bin == no_bin) continue;
        if (sizes.first[f] == unplaced) sizes.first[f] = bin - n_bins / 2;
        const auto place = static_cast<Index>(bin - sizes.first[f]);
        const Index inside = place < 0 ? 0 : (place < n_bins ? place : n_bins - 1);
        sizes.counts(f, inside) += sizes.weight;
    }
}

}  // namespace

template <class Target, class T>
void ResidualCountKernels<Target, T>::count_residuals(const FittedSamples<T>& samples,
                                                      const SizeCounts& sizes) {
    const Index B = samples.X.rows, F = samples.X.cols;
    const Buffer<double> factors(B);
    for (Index b = 0; b < B; ++b) factors[b] = variance_factor(samples, b);
    const Index blocks = entries_per_task / (B * features_per_block + 1) + 1;
    parallel_blocks(F, blocks * features_per_block, [&](Index first, Index last) {
        const Buffer<std::int64_t> bins(features_per_block);
        for (Index begin = first; begin < last; begin += features_per_block) {
            interruption_point();
            const Index end = begin + features_per_block < last ? begin + features_per_block : last;
            for (Index b = 0; b < B; ++b) {
                write_bins(samples, b, begin, end, factors[b], bins.vector());
                count_bins(samples, b, begin, end, bins.vector(), sizes);
            }
        }
    });
}

template struct ResidualCountKernels<Target, float>;
template struct ResidualCountKernels<Target, double>;

}  // namespace thalweg
