// Recursive least squares for the rows of a basis, each with a matrix of its own.
//
// The symmetric matrix H = L diag(d) L' of a row is stored by its factors. Adding w w' to H through
// its factors keeps it positive definite whatever the rounding.
#pragma once

#include <cmath>

#include "kernels/row_blocks.hpp"
#include "kernels/small_systems.hpp"
#include "support/pool.hpp"

namespace thalweg {
namespace {

/// Share of |w|^2 below which no pivot falls, however long a direction is absent.
inline constexpr double min_relative_pivot = 1e-8;

/// Rows times squared codes of one task of the pool: 50 us or more.
inline constexpr Index products_per_task = 1 << 19;

/// Up to this many codes, the recursion keeps its intermediate results in registers.
inline constexpr int max_unrolled = 10;

/// Entries of a block for each code: values of their own, or in memory if their number is not known
/// to the compiler.
template <class Rows, int Codes>
struct RowArray {
    template <class T>
    explicit RowArray(T*) {}
    THALWEG_INLINE Rows get(Index k) const { return values[k]; }
    THALWEG_INLINE void set(Index k, Rows value) { values[k] = value; }
    static void* end(Index) { return nullptr; }

    Rows values[Codes];
};
template <class T, int Bytes>
struct RowArray<Pack<T, Bytes>, 0> {
    using Rows = Pack<T, Bytes>;
    explicit RowArray(T* place) : memory(place) {}
    THALWEG_INLINE Rows get(Index k) const { return Rows::load(memory + k * Rows::lanes); }
    THALWEG_INLINE void set(Index k, Rows value) { value.store(memory + k * Rows::lanes); }
    T* end(Index K) const { return memory + K * Rows::lanes; }

    T* memory;
};

/// A sample that the basis learns from.
template <class T>
struct CleanSample {
    Vector<const T> w;         // codes
    Vector<const T> residual;  // x - U w, at the places of the rows
    Vector<const T> clean;     // 1 for rows that learn, 0 for those that only forget
    double squares;            // squared norm of the residual of the former
    double typical_size;       // typical |w|^2, or 0 for that of w
};

/// The recursion of all rows: H = forgetting H + w w' and u += step (x - w'u) H^-1 w.
template <class T>
class RowRecursion {
   public:
    RowRecursion(RowFactors<T> rows, const RowUpdate& settings)
        : rows_(rows),
          settings_(settings),
          blocks_per_task_(1 + products_per_task / (rows.U.rows * (rows.U.rows + 4) * lanes)),
          tasks_((rows.U.size + blocks_per_task_ - 1) / blocks_per_task_),
          extents_(tasks_),
          memory_(tasks_, 2 * rows.U.rows * Rows::lanes) {}

    /// Take a sample into the basis; return the extent of the basis, or zeros if it stays.
    Extent learn(const CleanSample<T>& sample) {
        const double size = squared_norm(sample.w);
        if (!(size > 0.0)) return {};
        if (rows_.D.data[0] == T(0)) begin(sample.typical_size > 0.0 ? sample.typical_size : size);
        const double sine = std::sqrt(sample.squares / (sample.squares + size));  // [T] (26)
        const double eta = sine <= settings_.adaptive_sine ? sine : 1.0;
        const bool scaled = settings_.scales_forgetting;  // [T] II-B, lambda_t = eta_t lambda
        const Step step{.forgetting = static_cast<T>((scaled ? eta : 1.0) * settings_.forgetting),
                        .floor = static_cast<T>(min_relative_pivot * size),
                        .length = static_cast<T>(scaled ? 1.0 : eta)};
        parallel_blocks(rows_.U.size, blocks_per_task_, [&](Index begin, Index end) {
            extents_[begin / blocks_per_task_] = update_blocks_of(sample, step, begin, end);
        });
        Extent all;
        for (Index i = 0; i < tasks_; ++i) {
            all.longest = larger(all.longest, extents_[i].longest);
            all.energy += extents_[i].energy;
        }
        return all;
    }

   private:
    static constexpr Index lanes = Lanes<T>::lanes;

    struct Step {
        T forgetting;
        T floor;  // smallest pivot
        T length;
    };

    /// Set the diagonal to the weight of the first basis.
    void begin(double size) {
        const Vector<T> D{rows_.D.data, rows_.D.size * rows_.D.rows * rows_.D.cols};
        fill(D, static_cast<T>(settings_.ridge * size / static_cast<double>(rows_.U.rows)));
    }

    /// Two registers of rows: their chains of operations take turns.
    using Rows = Pack < T, 2 * register_bytes<block_bytes ? 2 * register_bytes : block_bytes>;

    /// Update the rows from a lane of a block on; return their squared norms.
    ///
    /// The factors follow Gill, Golub, Murray and Saunders (1974), method C1, for H + clean w w'.
    /// The gain H^-1 w is one back substitution away: with H+ = L+ D+ L+', the numbers b of that
    /// method are D+^-1 L+^-1 w.
    template <int Codes>
    THALWEG_INLINE Rows update(const CleanSample<T>& sample, Step step, Index b, Index lane) const {
        const Index K = Codes > 0 ? Codes : rows_.U.rows, first = b * lanes + lane;
        T* const U = rows_.U.data + b * K * lanes + lane;
        T* const D = rows_.D.data + b * K * lanes + lane;
        T* const L = rows_.L.data + b * (K * (K - 1) / 2) * lanes + lane;
        RowArray<Rows, Codes> p(memory_.matrix()[b / blocks_per_task_].data), gain(p.end(K));
        Rows left = Rows::load(sample.clean.data + first);
#pragma GCC unroll 16
        for (Index r = 0; r < K; ++r) {
            Rows z = Rows::fill(sample.w.data[r]);
#pragma GCC unroll 16
            for (Index j = 0; j < r; ++j) {
                T* const place = L + (r * (r - 1) / 2 + j) * lanes;
                const Rows entry = Rows::load(place);
                z -= p.get(j) * entry;
                (entry + gain.get(j) * z).store(place);
            }
            const Rows old = larger(step.forgetting * Rows::load(D + r * lanes), step.floor);
            const Rows pivot = old + left * (z * z), share = left / pivot;
            pivot.store(D + r * lanes);
            p.set(r, z);
            gain.set(r, share * z);
            left = share * old;
        }
        const Rows error = step.length * Rows::load(sample.residual.data + first);
        Rows squares = Rows::fill(T(0));
#pragma GCC unroll 16
        for (Index j = K - 1; j >= 0; --j) {
            Rows z = gain.get(j);
#pragma GCC unroll 16
            for (Index r = K - 1; r > j; --r)
                z -= Rows::load(L + (r * (r - 1) / 2 + j) * lanes) * gain.get(r);
            gain.set(j, z);
            const Rows moved = Rows::load(U + j * lanes) + error * z;
            moved.store(U + j * lanes);
            squares += moved * moved;
        }
        return squares;
    }

    template <int Codes>
    Extent update_blocks(const CleanSample<T>& sample, Step step, Index begin, Index end) const {
        ExtentSums<Rows> sums;
        for (Index b = begin; b < end; ++b)
            for (Index lane = 0; lane < lanes; lane += Rows::lanes)
                sums.add(update<Codes>(sample, step, b, lane));
        return sums.extent();
    }

    /// Call the version for the number of codes: up to max_unrolled of them have their own.
    template <int Codes = max_unrolled>
    Extent update_blocks_of(const CleanSample<T>& sample, Step step, Index begin, Index end) const {
        if constexpr (Codes > 0) {
            if (rows_.U.rows != Codes)
                return update_blocks_of<(Codes > 1 ? Codes - 1 : 0)>(sample, step, begin, end);
        }
        return update_blocks<Codes>(sample, step, begin, end);
    }

    RowFactors<T> rows_;
    RowUpdate settings_;
    Index blocks_per_task_, tasks_;
    Buffer<Extent> extents_;
    Buffer<T> memory_;
};

}  // namespace
}  // namespace thalweg
