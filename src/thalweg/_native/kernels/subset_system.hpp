// Linear systems of some rows and columns of a definite matrix.
#pragma once

#include "kernels/flags.hpp"
#include "support/array.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// A pivot below this share of its diagonal entry marks a dependent column.
/// Safety margin against rounding errors, which are about 1e-16.
constexpr double dependent_pivot = 1e-12;
/// Solves S[index, index] x = b[index] by elimination, for many subsets of up to K indices.
class SubsetSystem {
   public:
    explicit SubsetSystem(Index K)
        : stride_((K + Lanes::lanes) / Lanes::lanes * Lanes::lanes),
          rows_(K, stride_),
          columns_(stride_),
          inverse_pivots_(K),
          solution_(K) {}

    /// Return -1, or the place in `index` whose pivot vanishes.
    Index solve(Matrix<const double> S, Vector<const double> b, Vector<const Index> index) {
        gather(S, b, index);
        if (index.size < Lanes::lanes) return solve_by_jordan<1>(S, index);
        if (index.size < 2 * Lanes::lanes) return solve_by_jordan<2>(S, index);
        if (index.size < 3 * Lanes::lanes) return solve_by_jordan<3>(S, index);
        if (index.size < 4 * Lanes::lanes) return solve_by_jordan<4>(S, index);
        return solve_by_substitution(S, index);
    }

    /// x after solve.
    Vector<const double> solution(Index n) const { return solution_.vector().first(n); }

   private:
    /// Four entries at most: systems are small, and forwarding of wide stores is slow.
    using Lanes = Pack < double, register_bytes<32 ? register_bytes : 32>;

    /// Copy [b | S] of the indices in whole registers: row i has b[i] in front.
    void gather(Matrix<const double> S, Vector<const double> b, Vector<const Index> index) {
        const Index n = index.size;
        if (n == 0) return;
        columns_[0] = index[0];
        for (Index i = 0; i < n; ++i) columns_[1 + i] = index[i];
        for (Index i = n + 1; i % Lanes::lanes != 0; ++i) columns_[i] = index[0];
        for (Index i = 0; i < n; ++i) {
            const Vector<const double> row = S[index[i]];
            double* target = row_of(i);
            for (Index k = 0; k <= n; k += Lanes::lanes) {
                Lanes values;
                values.part[0][0] = k == 0 ? b[index[i]] : row[columns_[k]];
                for (int lane = 1; lane < Lanes::lanes; ++lane)
                    values.part[0][lane] = row[columns_[k + lane]];
                values.store(target + k);
            }
        }
    }

    /// Eliminate each pivot's column in all other rows, which have the given number of registers.
    template <int Registers>
    Index solve_by_jordan(Matrix<const double> S, Vector<const Index> index) {
        const Index n = index.size;
        for (Index j = 0; j < n; ++j) {
            const double pivot = row_of(j)[1 + j];
            if (!(pivot > dependent_pivot * S(index[j], index[j]))) return j;
            const double inverse = 1.0 / pivot;
            Lanes row[Registers];
            THALWEG_UNROLL
            for (int r = 0; r < Registers; ++r)
                row[r] = Lanes::load(row_of(j) + r * Lanes::lanes) * inverse;
            for (Index i = 0; i < n; ++i) {
                double* target = row_of(i);
                const double factor = target[1 + j];
                THALWEG_UNROLL
                for (int r = 0; r < Registers; ++r, target += Lanes::lanes)
                    (Lanes::load(target) - factor * row[r]).store(target);
            }
            THALWEG_UNROLL
            for (int r = 0; r < Registers; ++r) row[r].store(row_of(j) + r * Lanes::lanes);
        }
        for (Index i = 0; i < n; ++i) solution_[i] = row_of(i)[0];
        return -1;
    }

    Index solve_by_substitution(Matrix<const double> S, Vector<const Index> index) {
        const Index n = index.size;
        for (Index i = 0; i < n; ++i) solution_[i] = row_of(i)[0];
        for (Index j = 0; j < n; ++j) {
            const double* row = row_of(j);
            const double pivot = row[1 + j], head = solution_[j];
            if (!(pivot > dependent_pivot * S(index[j], index[j]))) return j;
            inverse_pivots_[j] = 1.0 / pivot;
            for (Index i = j + 1; i < n; ++i) {
                // By symmetry the factor is in the row; entries left of the diagonal are not read.
                const double factor = row[1 + i] * inverse_pivots_[j];
                subtract(factor, row, row_of(i), (1 + i) / Lanes::lanes * Lanes::lanes, n);
                solution_[i] -= factor * head;
            }
        }
        for (Index j = n - 1; j >= 0; --j) {
            const double x = solution_[j] * inverse_pivots_[j];
            solution_[j] = x;
            for (Index i = 0; i < j; ++i) solution_[i] -= row_of(i)[1 + j] * x;
        }
        return -1;
    }

    /// Set target -= factor row from an entry on, in whole registers.
    THALWEG_INLINE static void subtract(double factor, const double* row, double* target,
                                        Index begin, Index n) {
        for (Index k = begin; k <= n; k += Lanes::lanes)
            (Lanes::load(target + k) - factor * Lanes::load(row + k)).store(target + k);
    }

    THALWEG_INLINE double* row_of(Index i) const { return rows_.matrix()[i].data; }

    Index stride_;
    Buffer<double> rows_;
    Buffer<Index> columns_;
    Buffer<double> inverse_pivots_;
    Buffer<double> solution_;
};

}  // namespace
}  // namespace thalweg
