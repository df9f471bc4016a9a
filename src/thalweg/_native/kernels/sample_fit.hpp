// Fits of one sample: least squares on the observed entries, quantiles of residuals, prior of
// codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/nan_order.hpp"
#include "kernels/row_passes.hpp"

namespace thalweg {
namespace {

/// The prior precision is at most this share of the typical data precision of a code: codes that
/// entries determine better are theirs.
inline constexpr double max_prior_share = 0.1;
/// The prior precision is at least this share of it, in rounding errors: rows that are rounding
/// errors determine nothing.
inline constexpr double min_prior_eps = 1e2;
/// Quantile of |residuals| that the noise scale is at least: of normal noise a third is below it,
/// of the clean entries among many outliers nearly all are.
inline constexpr double low_quantile = 0.3;
/// Entries that quantiles are taken of, evenly spread, if there are many.
inline constexpr Index quantile_entries = 1024;

/// Median and low quantile of the residuals' modulus.
struct Quantiles {
    double median;
    double low;
};

/// Return quantiles of |r| without its K smallest entries, which a fit may set to zero.
template <class T>
Quantiles quantiles(Vector<const T> r, Index count, Index K, Vector<T> room) {
    const Index stride = count / quantile_entries > 1 ? count / quantile_entries : 1;
    const Index size = (count + stride - 1) / stride;
    for (Index i = 0; i < size; ++i) room[i] = modulus(r[i * stride]);
    const Index zeros = K < size - 1 ? K : size - 1, rest = size - zeros;
    const Index median = zeros + rest / 2;
    const Index low = zeros + static_cast<Index>(low_quantile * static_cast<double>(rest));
    const NanLast less;
    std::nth_element(room.data, room.data + median, room.data + size, less);
    if (low < median) std::nth_element(room.data, room.data + low, room.data + median, less);
    return {static_cast<double>(room[median]), static_cast<double>(room[low])};
}

/// Return the prior precision within shares of the typical data precision of `count` rows.
template <class T>
double bounded_prior(double prior, const BasisScale& basis, Index count, Index K) {
    const double typical = basis.extent.energy * static_cast<double>(count) /
                           (static_cast<double>(basis.n) * static_cast<double>(K));
    const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
    return larger(min_prior_eps * eps * typical, smaller(max_prior_share * typical, prior));
}

/// Whether so few entries were observed that no outlier can be identified among them.
inline bool few_entries(Index count, Index K) { return count < 2 * K + 2; }

/// Set h to the least-squares codes of all entries, and r to their residual; weights are 1.
template <class T>
void fit_least_squares(const Sample<T>& sample, double prior, Passes<T>& passes, Vector<T> h,
                       Vector<T> r) {
    const auto squares = Influence<T>::least_squares();
    fill(passes.weight.first(sample.x.size), T(1));
    fill(h, T(0));
    double far = 0.0;
    passes.advance_and_gram(sample.U, h, sample.x, squares, r, squares.threshold, far);
    passes.equations.solve(Vector<const double>(passes.equations.g), relative_ridge<T>(), prior, h);
    passes.advance(sample.U, h, sample.x, squares, r);
}

}  // namespace
}  // namespace thalweg
