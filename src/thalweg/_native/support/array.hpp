// Views of arrays: a pointer with a shape. They own nothing, and are passed by value.
#pragma once

#include <cstddef>

#ifdef THALWEG_CHECK_BOUNDS
#include <cstdlib>
#define THALWEG_REQUIRE(condition) ((condition) ? void() : std::abort())
#else
#define THALWEG_REQUIRE(condition) void()
#endif

#define THALWEG_INLINE [[gnu::always_inline]] inline
/// The same for a lambda, after its parameters.
#define THALWEG_INLINE_BODY __attribute__((always_inline))

namespace thalweg {

using Index = std::ptrdiff_t;

/// Contiguous entries.
template <class T>
struct Vector {
    T* data = nullptr;
    Index size = 0;

    THALWEG_INLINE T& operator[](Index i) const {
        THALWEG_REQUIRE(0 <= i && i < size);
        return data[i];
    }
    /// Entries begin, ..., end - 1.
    THALWEG_INLINE Vector slice(Index begin, Index end) const {
        THALWEG_REQUIRE(0 <= begin && begin <= end && end <= size);
        return {data + begin, end - begin};
    }
    THALWEG_INLINE Vector first(Index count) const { return slice(0, count); }
    THALWEG_INLINE operator Vector<const T>() const { return {data, size}; }
};

/// Rows of contiguous entries, `stride` entries apart.
template <class T>
struct Matrix {
    T* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index stride = 0;

    Matrix() = default;
    THALWEG_INLINE Matrix(T* entries, Index n_rows, Index n_cols)
        : Matrix(entries, n_rows, n_cols, n_cols) {}
    THALWEG_INLINE Matrix(T* entries, Index n_rows, Index n_cols, Index row_stride)
        : data(entries), rows(n_rows), cols(n_cols), stride(row_stride) {}

    THALWEG_INLINE Vector<T> operator[](Index i) const {
        THALWEG_REQUIRE(0 <= i && i < rows);
        return {data + i * stride, cols};
    }
    THALWEG_INLINE T& operator()(Index i, Index j) const {
        THALWEG_REQUIRE(0 <= i && i < rows && 0 <= j && j < cols);
        return data[i * stride + j];
    }
    /// Rows begin, ..., end - 1.
    THALWEG_INLINE Matrix rows_between(Index begin, Index end) const {
        THALWEG_REQUIRE(0 <= begin && begin <= end && end <= rows);
        return {data + begin * stride, end - begin, cols, stride};
    }
    /// Columns begin, ..., end - 1.
    THALWEG_INLINE Matrix cols_between(Index begin, Index end) const {
        THALWEG_REQUIRE(0 <= begin && begin <= end && end <= cols);
        return {data + begin, rows, end - begin, stride};
    }
    THALWEG_INLINE operator Matrix<const T>() const { return {data, rows, cols, stride}; }
};

/// Contiguous matrices of one shape.
template <class T>
struct Cube {
    T* data = nullptr;
    Index size = 0;
    Index rows = 0;
    Index cols = 0;

    THALWEG_INLINE Matrix<T> operator[](Index i) const {
        THALWEG_REQUIRE(0 <= i && i < size);
        return {data + i * rows * cols, rows, cols};
    }
    THALWEG_INLINE operator Cube<const T>() const { return {data, size, rows, cols}; }
};

}  // namespace thalweg
