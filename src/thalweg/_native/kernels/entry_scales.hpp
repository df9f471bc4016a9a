// Entries of a row that are missing, or that have weights.
#pragma once

#include "kernels/flags.hpp"
#include "support/array.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Multiply the residuals z of row t by the scales of its entries, if there are any.
template <class T>
void scale_row(Matrix<const T> scales, Index t, Vector<T> z) {
    if (scales.rows == 0) return;
    const Vector<const T> row = scales[t];
    for_each<T>(z.size, [&](auto at) THALWEG_INLINE_BODY { at.store(z, at(z) * at(row)); });
}

/// Return the number of observed entries of row t: those with a flag, or with a positive scale.
template <class T>
double observed_entries(Matrix<const bool> observed, Matrix<const T> scales, Index t, Index F) {
    Index n = F;
    if (observed.rows > 0) n = count(observed[t]);
    if (scales.rows > 0)
        for (Index i = 0; i < F; ++i) n -= !(scales(t, i) > T(0));
    return static_cast<double>(n);
}

/// Add v - p to the outliers r of the missing entries of a row.
template <class T>
void add_missing(Vector<const bool> observed, Vector<const T> v, Vector<const T> p, Vector<T> r) {
    for (Index i = 0; i < r.size; ++i)
        if (!observed[i]) r[i] += v[i] - p[i];
}

}  // namespace
}  // namespace thalweg
