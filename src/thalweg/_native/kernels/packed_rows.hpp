// Observed entries of a sample, and the same columns of a basis, packed into contiguous memory.
#pragma once

#include "kernels/basis_products.hpp"

namespace thalweg {
namespace {

/// A basis in padded rows, copied from rows without padding and back.
template <class T>
class PaddedBasis {
   public:
    template <class S>
    explicit PaddedBasis(Matrix<const S> U) : size_(U.cols), rows_(U.rows, padded<T>(U.cols)) {
        for (Index k = 0; k < U.rows; ++k) copy_padded(U[k], matrix()[k]);
    }
    Matrix<T> matrix() const { return rows_.matrix(); }
    operator Matrix<T>() const { return matrix(); }
    void write(Matrix<T> U) const {
        for (Index k = 0; k < U.rows; ++k) copy(matrix()[k].first(size_), U[k]);
    }

   private:
    Index size_;
    Buffer<T> rows_;
};

/// The `count` observed entries v of a sample and the columns of the basis there, padded.
template <class T>
struct PackedSample {
    Matrix<const T> U;
    Vector<const T> v;
    Index count;
    bool complete;
};

/// Memory for one packed sample at a time.
template <class T>
class SamplePacker {
   public:
    SamplePacker(Index K, Index F) : observed_(F), rows_(K * padded<T>(F)), sample_(padded<T>(F)) {}

    /// Pack a sample and the columns of U; U itself is used where nothing is missing.
    template <class S>
    PackedSample<T> pack(Matrix<const T> U, Vector<const S> v, Vector<const bool> observed) {
        Index count = 0;
        for (Index i = 0; i < v.size; ++i) {
            observed_[count] = i;  // overwritten unless it was observed
            count += observed[i] ? 1 : 0;
        }
        if (count == v.size) {
            copy_padded(v, sample_.vector());
            return {U, sample_.vector(), count, true};
        }
        const Index cols = padded<T>(count);
        const Matrix<T> columns(rows_.vector().data, U.rows, cols);
        const Vector<T> values = sample_.vector().first(cols);
        gather(v, count, values);
        for (Index k = 0; k < U.rows; ++k) gather(U[k], count, columns[k]);
        return {columns, values, count, false};
    }

    /// Set full = x at the observed entries of the sample that was packed last, and 0 elsewhere.
    void unpack(const PackedSample<T>& sample, Vector<const T> x, Vector<T> full) const {
        if (sample.complete) {
            copy_padded(x.first(sample.count), full);
            return;
        }
        fill(full, T(0));
        for (Index i = 0; i < sample.count; ++i) full[observed_[i]] = x[i];
    }

    /// Place of a packed entry in the sample that was packed last.
    Index place(Index i) const { return observed_[i]; }

   private:
    template <class S>
    void gather(Vector<const S> source, Index count, Vector<T> target) const {
        for (Index i = 0; i < count; ++i) target[i] = static_cast<T>(source[observed_[i]]);
        fill(target.slice(count, target.size), T(0));
    }

    Buffer<Index> observed_;
    Buffer<T> rows_;
    Buffer<T> sample_;
};

}  // namespace
}  // namespace thalweg
