// The median modulus of many entries.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/nan_order.hpp"
#include "support/array.hpp"
#include "support/buffer.hpp"

namespace thalweg {
namespace {

/// The median of more entries than twice this is that of every second one, every third one, ...
inline constexpr Index median_entries = 1024;

/// Memory for medians of moduli.
template <class T>
class MedianModulus {
   public:
    explicit MedianModulus(Index size)
        : moduli_(size < 2 * median_entries ? size : 2 * median_entries) {}

    /// Return the median of |x|, or of an evenly spaced share of it; NaN counts as largest.
    double operator()(Vector<const T> x) const {
        const Index every = x.size < 2 * median_entries ? 1 : x.size / median_entries;
        const Index n = (x.size + every - 1) / every;
        for (Index i = 0; i < n; ++i) moduli_[i] = std::fabs(x[i * every]);
        T* const first = moduli_.vector().data;
        T* const middle = first + n / 2;
        const NanLast less;
        std::nth_element(first, middle, first + n, less);
        if (n % 2 == 1) return static_cast<double>(*middle);
        T below = *first;
        for (const T* at = first; at < middle; ++at) below = less(below, *at) ? *at : below;
        return (static_cast<double>(below) + static_cast<double>(*middle)) / 2.0;
    }

   private:
    Buffer<T> moduli_;
};

}  // namespace
}  // namespace thalweg
