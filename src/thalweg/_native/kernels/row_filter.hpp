// A filter of rows in time: codes that follow autoregressions, and a local process of each feature.
#pragma once

#include "kernels/factor_chain.hpp"
#include "kernels/local_processes.hpp"

namespace thalweg {

/// Moments of codes and local deviations at one row.
struct RowMoments {
    Vector<double> code_mean;
    Matrix<double> code_covariance;
    Vector<double> local_mean;
    Vector<double> local_variance;
};

/// Means of the low-rank part and of the deviations of each row, and the variance of their sum.
struct FilteredRows {
    Matrix<double> low_rank;
    Matrix<double> deviation;
    Matrix<double> variance;
};

template <class Target>
struct RowFilter {
    /// Filter rows, given those before, whose moments are in `moments`; these are replaced by those
    /// of the last row. There are as many steps as rows: the first is that from the row before.
    ///
    /// An entry whose residual from the others of its row and from the rows before exceeds
    /// `threshold` standard deviations has the weight (threshold / residual)^4.
    static void filter(const FactorSeries<double>& rows, const FactorParameters& factors,
                       const LocalParameters& local, double threshold, const RowMoments& moments,
                       const FilteredRows& found);
};

}  // namespace thalweg
