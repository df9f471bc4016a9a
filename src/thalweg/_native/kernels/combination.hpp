// Linear combinations of the rows of a matrix.
#pragma once

#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Nonzero coefficients of a combination, with the rows that they multiply.
template <class T>
struct Terms {
    Vector<T> factor;
    Vector<Index> row;
    Index count = 0;

    THALWEG_INLINE void append(T coefficient, Index k) {
        factor[count] = coefficient;
        row[count++] = k;
    }
    /// Set the terms to the entries of h that are not zero.
    void assign(Vector<const T> h) {
        count = 0;
        for (Index k = 0; k < h.size; ++k)
            if (h[k] != T(0)) append(h[k], k);
    }
};

// Rows that one pass adds up: more streams than the processor prefetches would be slower.
constexpr Index rows_per_pass = 8;

/// Entries of sum_k factor_k W[row_k] at a place for the terms begin, ..., end - 1, at least one.
template <class T, class At>
THALWEG_INLINE auto combined(At at, const Terms<T>& terms, Index begin, Index end,
                             Matrix<const T> W) {
    auto value = terms.factor[begin] * at(W[terms.row[begin]]);
    for (Index k = begin + 1; k < end; ++k) value += terms.factor[k] * at(W[terms.row[k]]);
    return value;
}

/// Set x to sum_k factor_k W[row_k].
template <class T>
void combine(const Terms<T>& terms, Matrix<const T> W, Vector<T> x) {
    Index begin = 0;
    if (terms.count == 0) fill(x, T(0));
    while (begin < terms.count) {
        const Index left = terms.count - begin;
        const Index end = left < 2 * rows_per_pass ? terms.count : begin + rows_per_pass;
        if (begin == 0)
            for_each<T>(x.size, [&](auto at) { at.store(x, combined(at, terms, 0, end, W)); });
        else
            for_each<T>(x.size,
                        [&](auto at) { at.store(x, at(x) + combined(at, terms, begin, end, W)); });
        begin = end;
    }
}

/// Entries between rows that begin at cache lines, an odd number of these apart: rows whose
/// distance is a power of two would share a few places of the cache.
template <class T>
constexpr Index row_stride(Index cols) {
    constexpr Index line = 64 / static_cast<Index>(sizeof(T));
    return ((cols + line - 1) / line | 1) * line;
}

}  // namespace
}  // namespace thalweg
