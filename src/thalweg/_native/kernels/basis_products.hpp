// Products of a sample with the rows of a basis.
//
// Rows are padded by zeros to whole packs, so that loops have no remainder. Sums over the entries
// are made in the type of the data over a part of the row, and in double precision beyond it.
#pragma once

#include "support/array.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Bytes to a multiple of which rows are padded.
inline constexpr int row_bytes = 128;
/// Bytes of the packs in long loops: independent sums hide the latency of one.
inline constexpr int long_bytes = register_bytes > 16 ? 256 : 128;
/// Entries of a row for which all of an iteration is done before the next ones, in fast memory.
inline constexpr Index part_size = 256;

/// Return the number of entries of a padded row.
template <class T>
THALWEG_INLINE Index padded(Index n) {
    constexpr Index lanes = row_bytes / static_cast<Index>(sizeof(T));
    return (n + lanes - 1) / lanes * lanes;
}

/// Call f(begin, end) for the parts of n entries.
template <class F>
THALWEG_INLINE void for_each_part(Index n, F f) {
    for (Index begin = 0; begin < n; begin += part_size)
        f(begin, begin + part_size < n ? begin + part_size : n);
}

/// Call f(at) for all entries of a padded row, or of a part of one.
template <class T, class F>
THALWEG_INLINE void for_each_pack(Index n, F f) {
    using Long = Pack<T, long_bytes>;
    using Short = Pack<T, row_bytes>;
    Index i = 0;
    for (; i + Long::lanes <= n; i += Long::lanes) f(Place<Long>{i});
    for (; i < n; i += Short::lanes) f(Place<Short>{i});
}

/// Return the first entries of a vector as a padded copy in `room`.
template <class S, class T>
THALWEG_INLINE void copy_padded(Vector<S> x, Vector<T> room) {
    copy(x, room.first(x.size));
    fill(room.slice(x.size, room.size), T(0));
}

/// Return sum_k h_k u_k at a place, u_k the rows of U.
template <class T, class Value>
THALWEG_INLINE Value combination(Matrix<const T> U, Vector<const T> h, Place<Value> at) {
    Value x = Value::fill(T(0));
    for (Index k = 0; k < U.rows; ++k) x += h[k] * at(U[k]);
    return x;
}

/// Set x = U'h.
template <class T>
void combine(Matrix<const T> U, Vector<const T> h, Vector<T> x) {
    for_each_pack<T>(U.cols, [&](auto at) { at.store(x, combination(U, h, at)); });
}

/// Set residual = v - U'h.
template <class T>
void subtract_combination(Matrix<const T> U, Vector<const T> h, Vector<const T> v,
                          Vector<T> residual) {
    for_each_pack<T>(U.cols, [&](auto at) { at.store(residual, at(v) - combination(U, h, at)); });
}

/// Add the products of x with `Rows` or fewer rows of U, from `k` on, to c.
template <int Rows, class T>
THALWEG_INLINE void add_products(Matrix<const T> U, Index k, Vector<const T> x, Vector<double> c) {
    using Value = Pack<T, 64>;
    for (; k + Rows <= U.rows; k += Rows) {
        Value sums[Rows];
        for (int j = 0; j < Rows; ++j) sums[j] = Value::fill(T(0));
        for (Index i = 0; i < x.size; i += Value::lanes) {
            const Place<Value> at{i};
            const Value value = at(x);
            for (int j = 0; j < Rows; ++j) sums[j] += value * at(U[k + j]);
        }
        for (int j = 0; j < Rows; ++j) c[k + j] += static_cast<double>(total(sums[j]));
    }
    if constexpr (Rows > 1) add_products<Rows / 2>(U, k, x, c);
}

/// Set c += U x, over a part of the entries.
template <class T>
THALWEG_INLINE void add_products(Matrix<const T> U, Vector<const T> x, Vector<double> c) {
    constexpr int rows = register_bytes / 8;  // as many sums as registers allow
    add_products<rows>(U, 0, x, c);
}

/// Set c = U x.
template <class T>
void project(Matrix<const T> U, Vector<const T> x, Vector<double> c) {
    fill(c, 0.0);
    for_each_part(U.cols, [&](Index begin, Index end) {
        add_products<T>(U.cols_between(begin, end), x.slice(begin, end), c);
    });
}

/// Set the lower half of G = U U'; return the mean of its diagonal.
template <class T>
double gram(Matrix<const T> U, Matrix<double> G) {
    fill(G, 0.0);
    for_each_part(U.cols, [&](Index begin, Index end) {
        const Matrix<const T> part = U.cols_between(begin, end);
        for (Index k = 0; k < U.rows; ++k)
            add_products<T>(part.rows_between(0, k + 1), part[k], G[k].first(k + 1));
    });
    double trace = 0.0;
    for (Index k = 0; k < U.rows; ++k) trace += G(k, k);
    return trace / static_cast<double>(U.rows);
}

/// Return the mean modulus of the first `count` entries of a padded row.
template <class T>
double mean_modulus(Vector<const T> x, Index count) {
    const T size = sum<T>(x.size, [&](auto at) { return modulus(at(x)); });
    return static_cast<double>(size) / static_cast<double>(count);
}

}  // namespace
}  // namespace thalweg
