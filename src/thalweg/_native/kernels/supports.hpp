// Sparse nonnegative H (K, n) that lowers tr(H'QH) - 2 <P, H>: its columns are independent.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// The cheapest entry to remove from each column, and the best one to add.
struct SwapProposals {
    Vector<Index> removed;
    Vector<double> cost;
    Vector<Index> added;
    Vector<double> gain;
};

template <class Target>
struct SwapKernels {
    /// Find in each column of H the entry that is cheapest to remove, and the best one to add.
    ///
    /// With slopes S = QH - P removing h costs q h^2 - 2 h s, and adding an entry gains s^2 / q, q
    /// the diagonal entry of its row, [A] (34). Where there is none, cost is inf and gain zero.
    static void propose_swaps(Vector<const double> diagonal, Matrix<const double> S,
                              Matrix<const double> H, const SwapProposals& proposals);

    /// Swap a nonzero of each column with a zero, if the best pair gains more than min_gain.
    ///
    /// Removing h of row a costs q h^2 - 2 h s, and lowers the slope of row b by Q[a, b] h; b then
    /// gains the square of its slope over Q[b, b]. All pairs are compared. Columns that are busy
    /// stay. Returned is the number of swaps.
    static Index swap_best_pairs(Matrix<const double> Q, Matrix<const double> S, Matrix<double> H,
                                 Vector<const bool> busy, double min_gain);
};

template <class Target, class T>
struct SupportKernels {
    /// Lower tr(H'QH)/2 - <P, H> over the positive entries of H, one after the other.
    ///
    /// Each is set to its best value, or to zero if that is negative; zeros stay zeros.
    static void sweep_supports(Matrix<const T> Q, Matrix<const T> P, Matrix<T> H, Index sweeps);
};

}  // namespace thalweg
