// Inverses of definite matrices by elimination in place.
#pragma once

#include <cmath>

#include "support/array.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Rows that are subtracted together from those below.
constexpr Index elimination_rows = 4;

/// Set x[begin, end) -= factor y[begin, end).
template <class T>
THALWEG_INLINE void subtract(T factor, Vector<const T> y, Vector<T> x, Index begin, Index end) {
    add<T>(-factor, y.slice(begin, end), x.slice(begin, end));
}

/// Eliminate with the rows first, ..., last - 1 in those after them up to last; false if a pivot
/// is not positive.
template <class T>
bool eliminate_within(Matrix<T> S, Index first, Index last) {
    for (Index p = first; p < last; ++p) {
        const Vector<const T> row = S[p];
        if (!(row[p] > T(0))) return false;
        for (Index i = p + 1; i < last; ++i) {
            const T factor = row[i] / row[p];
            subtract<T>(factor, row, S[i], 0, p);
            S(i, p) = -factor;
            subtract<T>(factor, row, S[i], i, S.rows);
        }
    }
    return true;
}

/// Eliminate with four rows in all below them.
template <class T>
void eliminate_below(Matrix<T> S, Index n) {
    const Vector<const T> a = S[n], b = S[n + 1], c = S[n + 2], d = S[n + 3];
    for (Index i = n + elimination_rows; i < S.rows; ++i) {
        // The matrix is symmetric: the factors are in the rows that are subtracted.
        const T p = a[i] / a[n], q = b[i] / b[n + 1], r = c[i] / c[n + 2], s = d[i] / d[n + 3];
        const auto subtract_rows = [&](Index begin, Index end) {
            const Vector<T> target = S[i].slice(begin, end);
            const Vector<const T> A = a.slice(begin, end), B = b.slice(begin, end),
                                  C = c.slice(begin, end), D = d.slice(begin, end);
            for_each<T>(target.size, [&](auto at) THALWEG_INLINE_BODY {
                at.store(target, at(target) - (p * at(A) + q * at(B) + r * at(C) + s * at(D)));
            });
        };
        subtract_rows(0, n);
        S(i, n) = -p - q * b[n] - r * c[n] - s * d[n];
        S(i, n + 1) = -q - r * c[n + 1] - s * d[n + 1];
        S(i, n + 2) = -r - s * d[n + 2];
        S(i, n + 3) = -s;
        subtract_rows(i, S.rows);
    }
}

/// Replace a definite matrix S, of which the upper half is read, by R with R'R = S^-1; false if S
/// is not definite.
///
/// The rows of [S | 1] are eliminated in one array: the entries left of the diagonal that become
/// zero make room for those of the right half.
template <class T>
bool inverse_root(Matrix<T> S) {
    for (Index first = 0; first < S.rows; first += elimination_rows) {
        const Index end = first + elimination_rows;
        if (!eliminate_within(S, first, end < S.rows ? end : S.rows)) return false;
        if (end < S.rows) eliminate_below(S, first);
    }
    for (Index k = 0; k < S.rows; ++k) {
        const T scale = T(1) / std::sqrt(S(k, k));
        S(k, k) = T(1);
        const Vector<T> left = S[k].first(k + 1);
        for_each<T>(left.size,
                    [&](auto at) THALWEG_INLINE_BODY { at.store(left, scale * at(left)); });
        fill(S[k].slice(k + 1, S.rows), T(0));
    }
    return true;
}

/// Return the Frobenius norm.
template <class T>
T frobenius_norm(Matrix<const T> S) {
    const Vector<const T> entries{S.data, S.rows * S.cols};
    return std::sqrt(dot(entries, entries));
}

}  // namespace
}  // namespace thalweg
