// A basis in blocks of rows: entry [b, k, lane] is entry k of row lanes b + lane.
//
// Loops do the same for all rows of a block. Rows beyond the last are zero, and so are their
// values; they take part, and change nothing.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/petrels_types.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// One entry of all rows of a block.
template <class T>
using Lanes = Pack<T, block_bytes>;

/// The entry k of the rows of block b.
template <class T>
THALWEG_INLINE Lanes<T> load_rows(Cube<const T> U, Index b, Index k) {
    THALWEG_REQUIRE(0 <= b && b < U.size && 0 <= k && k < U.rows);
    return Lanes<T>::load(U.data + (b * U.rows + k) * Lanes<T>::lanes);
}

/// The values of the rows of block b.
template <class T>
THALWEG_INLINE Lanes<T> load_block(Vector<const T> x, Index b) {
    THALWEG_REQUIRE(0 <= b && (b + 1) * Lanes<T>::lanes <= x.size);
    return Lanes<T>::load(x.data + b * Lanes<T>::lanes);
}
template <class T>
THALWEG_INLINE Lanes<T> load_block(Vector<T> x, Index b) {
    return load_block(Vector<const T>(x), b);
}
template <class T>
THALWEG_INLINE void store_block(Vector<T> x, Index b, Lanes<T> value) {
    THALWEG_REQUIRE(0 <= b && (b + 1) * Lanes<T>::lanes <= x.size);
    value.store(x.data + b * Lanes<T>::lanes);
}

/// Norm of the longest row of a basis, and sum of squares of all.
struct Extent {
    double longest = 0.0;
    double energy = 0.0;
};

/// Sums that an Extent is made of.
template <class Rows>
struct ExtentSums {
    Rows longest = Rows::fill(0);
    double energy = 0.0;

    THALWEG_INLINE void add(Rows squares) {
        longest = larger(longest, squares);
        energy += static_cast<double>(total(squares));
    }
    THALWEG_INLINE Extent extent() const {
        return {std::sqrt(static_cast<double>(largest(longest))), energy};
    }
};

/// The whole basis that a sample is compared with: its extent, and its number of rows.
struct BasisScale {
    Extent extent;
    Index n;
};

template <class T>
Extent basis_extent(Cube<const T> U) {
    ExtentSums<Lanes<T>> sums;
    for (Index b = 0; b < U.size; ++b) {
        Lanes<T> squares = Lanes<T>::fill(T(0));
        for (Index k = U.rows - 1; k >= 0; --k) {  // in the order of the recursion
            const Lanes<T> entry = load_rows(U, b, k);
            squares += entry * entry;
        }
        sums.add(squares);
    }
    return sums.extent();
}

/// A sample on its observed entries.
template <class T>
struct Sample {
    Cube<const T> U;    // rows of the basis at these entries, in blocks
    Vector<const T> x;  // their values, 0 in the rest of the last block
    Index count;        // of observed entries

    Index codes() const { return U.rows; }
};

/// Places of the observed entries of a sample, and memory for their rows and values.
template <class T>
class ObservedEntries {
   public:
    explicit ObservedEntries(Cube<const T> U)
        : U_(U), index_(U.size * U.cols), rows_(U.size * U.rows * U.cols), x_(U.size * U.cols) {}

    /// Take a sample; without gaps its rows are the basis itself.
    Sample<T> take(Vector<const T> x, Vector<const bool> observed) {
        complete_ = std::memchr(observed.data, 0, static_cast<std::size_t>(x.size)) == nullptr;
        count_ = complete_ ? x.size : list(observed);
        const Index lanes = U_.cols, blocks = (count_ + lanes - 1) / lanes;
        const Vector<T> values = x_.vector().first(blocks * lanes);
        fill(values.slice(count_, values.size), T(0));
        if (complete_) {
            std::memcpy(values.data, x.data, static_cast<std::size_t>(count_) * sizeof(T));
            return {U_, values, count_};
        }
        for (Index i = 0; i < count_; ++i) values[i] = x[index_[i]];
        const Cube<T> rows{rows_.vector().data, blocks, U_.rows, lanes};
        gather(rows);
        return {rows, values, count_};
    }

    Index count() const { return count_; }

    /// Return entries at their places among all features, 0 elsewhere; `room` may hold them.
    Vector<const T> scatter(Vector<const T> entries, Vector<T> room) const {
        if (complete_) return entries;
        fill(room, T(0));
        for (Index i = 0; i < count_; ++i) room[index_[i]] = entries[i];
        return room;
    }

    /// Set `out` to the residuals r of entries that are not clean, 0 elsewhere.
    void scatter_outliers(Vector<const T> r, Vector<const T> clean, Vector<T> out) const {
        if (complete_) {
            for_each<T>(count_, [&](auto at) { at.store(out, at(r) * (T(1) - at(clean))); });
            return;
        }
        fill(out, T(0));
        for (Index i = 0; i < count_; ++i) out[index_[i]] = r[i] * (T(1) - clean[i]);
    }

   private:
    /// List the places of observed entries, and return their number.
    Index list(Vector<const bool> observed) {
        Index count = 0;
        for (Index i = 0; i < observed.size; ++i) {
            index_[count] = i;
            count += observed[i];
        }
        return count;
    }

    void gather(Cube<T> rows) const {
        const Index K = U_.rows, lanes = U_.cols;
        if (rows.size == 0) return;
        for (Index k = 0; k < K; ++k) fill(rows[rows.size - 1][k], T(0));
        for (Index i = 0; i < count_; ++i) {
            const Index from = index_[i];
            const T* source = U_[from / lanes].data + from % lanes;
            T* target = rows[i / lanes].data + i % lanes;
            for (Index k = 0; k < K; ++k) target[k * lanes] = source[k * lanes];
        }
    }

    Cube<const T> U_;
    Buffer<Index> index_;
    Buffer<T> rows_;
    Buffer<T> x_;
    Index count_ = 0;
    bool complete_ = false;
};

}  // namespace
}  // namespace thalweg
