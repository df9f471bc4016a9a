// Memory for the intermediate results of a kernel, aligned to cache lines.
#pragma once

#include <cstring>
#include <new>

#include "support/array.hpp"

namespace thalweg {
namespace {

/// Alignment in bytes: two cache lines, or two registers of AVX-512.
inline constexpr std::size_t alignment = 128;

/// Entries that are not initialised unless asked for, freed with the buffer.
template <class T>
class Buffer {
   public:
    explicit Buffer(Index size) : size_(size), data_(allocate(size)) {}
    Buffer(Index rows, Index cols) : Buffer(rows * cols) {
        rows_ = rows;
        cols_ = cols;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { ::operator delete(data_, std::align_val_t(alignment)); }

    /// Set all bytes to zero.
    Buffer& zero() {
        std::memset(static_cast<void*>(data_), 0, static_cast<std::size_t>(size_) * sizeof(T));
        return *this;
    }
    Vector<T> vector() const { return {data_, size_}; }
    /// The buffer as a matrix, if it was made with rows and columns.
    Matrix<T> matrix() const { return {data_, rows_, cols_}; }
    operator Vector<T>() const { return vector(); }
    operator Matrix<T>() const { return matrix(); }
    T& operator[](Index i) const { return vector()[i]; }

   private:
    static T* allocate(Index size) {
        const std::size_t bytes = static_cast<std::size_t>(size > 0 ? size : 1) * sizeof(T);
        return static_cast<T*>(::operator new(bytes, std::align_val_t(alignment)));
    }

    Index size_;
    Index rows_ = 0;
    Index cols_ = 0;
    T* data_;
};

}  // namespace
}  // namespace thalweg
