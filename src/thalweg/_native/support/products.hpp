// Products of small matrices, without the copies that BLAS makes of them.
#pragma once

#include <cstdint>

#include "support/array.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// What becomes of the product.
enum class Into : std::uint8_t { set, add, subtract };

/// Rows and registers of a tile of the product that stays in registers: its sums, a row of B and
/// an entry of A must fit.
inline constexpr int tile_rows = 6;
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int tile_registers = 4;
#else
inline constexpr int tile_registers = 2;
#endif
/// Rows of B at a time, so that those of a tile stay in the first cache.
inline constexpr Index tile_depth = 256;

/// Entries of one tile's operands: rows of A, and columns of B and C.
template <class T>
struct TileOperands {
    const T* a;
    Index a_stride;
    const T* b;
    Index b_stride;
    T* c;
    Index c_stride;
    Index depth;
};

template <class T, int Rows, int Registers>
THALWEG_INLINE void multiply_tile(Into into, TileOperands<T> at) {
    using Value = Pack<T, Registers * register_bytes>;
    Value sums[Rows];
    THALWEG_UNROLL
    for (int i = 0; i < Rows; ++i) sums[i] = Value::fill(T(0));
    for (Index k = 0; k < at.depth; ++k) {
        const Value row = Value::load(at.b + k * at.b_stride);
        THALWEG_UNROLL
        for (int i = 0; i < Rows; ++i) sums[i] += row * at.a[i * at.a_stride + k];
    }
    THALWEG_UNROLL
    for (int i = 0; i < Rows; ++i) {
        T* place = at.c + i * at.c_stride;
        if (into == Into::add) sums[i] = Value::load(place) + sums[i];
        if (into == Into::subtract) sums[i] = Value::load(place) - sums[i];
        sums[i].store(place);
    }
}

/// Multiply `rows` rows of A by as many columns of B as there are in some registers.
template <class T, int Registers>
THALWEG_INLINE void multiply_panel(Into into, TileOperands<T> at, Index rows) {
    const auto advance = [&](int count) THALWEG_INLINE_BODY {
        at.a += count * at.a_stride;
        at.c += count * at.c_stride;
        rows -= count;
    };
    for (; rows >= tile_rows; advance(tile_rows)) multiply_tile<T, tile_rows, Registers>(into, at);
    if (rows >= 4) {
        multiply_tile<T, 4, Registers>(into, at);
        advance(4);
    }
    if (rows >= 2) {
        multiply_tile<T, 2, Registers>(into, at);
        advance(2);
    }
    if (rows > 0) multiply_tile<T, 1, Registers>(into, at);
}

/// Multiply by the last columns of B, fewer than there are in a register.
template <class T>
void multiply_rest(Into into, Matrix<const T> A, Matrix<const T> B, Matrix<T> C) {
    constexpr Index lanes = register_bytes / static_cast<Index>(sizeof(T));
    T columns[tile_depth * lanes], sums[tile_rows * lanes];
    for (Index k = 0; k < B.rows; ++k)
        for (Index j = 0; j < lanes; ++j) columns[k * lanes + j] = j < B.cols ? B(k, j) : T(0);
    for (Index first = 0; first < A.rows; first += tile_rows) {
        const Index n = first + tile_rows < A.rows ? tile_rows : A.rows - first;
        multiply_panel<T, 1>(
            Into::set, {A.data + first * A.stride, A.stride, columns, lanes, sums, lanes, A.cols},
            n);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < B.cols; ++j) {
                const T value = sums[i * lanes + j];
                T& c = C(first + i, j);
                c = into == Into::set ? value : into == Into::add ? c + value : c - value;
            }
    }
}

/// Set C to A B, or add or subtract the product. The sums have the same order for any A.rows.
template <class T>
void product(Into into, Matrix<const T> A, Matrix<const T> B, Matrix<T> C) {
    constexpr Index lanes = register_bytes / static_cast<Index>(sizeof(T));
    constexpr Index panel = tile_registers * lanes;
    THALWEG_REQUIRE(A.cols == B.rows && A.rows == C.rows && B.cols == C.cols);
    if (A.cols == 0 && into == Into::set) fill(C, T(0));
    for (Index k = 0; k < A.cols; k += tile_depth) {
        const Index end = k + tile_depth < A.cols ? k + tile_depth : A.cols;
        const Matrix<const T> some = A.cols_between(k, end), rows = B.rows_between(k, end);
        const Into now = k > 0 && into == Into::set ? Into::add : into;
        const auto operands = [&](Index j) THALWEG_INLINE_BODY {
            return TileOperands<T>{some.data,  some.stride, rows.data + j, rows.stride,
                                   C.data + j, C.stride,    some.cols};
        };
        Index j = 0;
        for (; j + panel <= B.cols; j += panel)
            multiply_panel<T, tile_registers>(now, operands(j), A.rows);
        for (; j + lanes <= B.cols; j += lanes) multiply_panel<T, 1>(now, operands(j), A.rows);
        if (j < B.cols)
            multiply_rest(now, some, rows.cols_between(j, B.cols), C.cols_between(j, C.cols));
    }
}

}  // namespace
}  // namespace thalweg
