// Settings, state and results of the trackers by recursive least squares.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// Bytes of a block of rows: two registers of AVX-512. Checkpoints have arrays in this layout.
inline constexpr int block_bytes = 128;

/// Samples that only estimate the noise scale, before any changes the basis.
inline constexpr Index warm_up_samples = 16;

/// Samples as rows, and which of their entries were observed.
template <class T>
struct Samples {
    Matrix<const T> X;
    Matrix<const bool> observed;
};

/// A basis in blocks of rows, and the LDL' factors of a symmetric matrix for each row.
///
/// U[b, k, lane] is entry k of row lanes b + lane, and D the same of its diagonal; the entry
/// (r, j), r > j, of its unit triangle is L[b, r (r - 1) / 2 + j, lane]. Rows beyond the last are
/// 0.
template <class T>
struct RowFactors {
    Cube<T> U;
    Cube<T> D;
    Cube<T> L;
};

/// Settings of the recursion.
struct RowUpdate {
    double forgetting;       // factor of the weights of earlier samples
    double ridge;            // weight of the first basis, in samples
    double adaptive_sine;    // sine up to which eta of [T] (26) is the sine itself; 0 for eta = 1
    bool scales_forgetting;  // whether eta multiplies the forgetting factor, not the step
};

/// Settings of Algorithm 2 of [T]; values of the authors' code.
struct ADMMSettings {
    double rho1 = 1.5;
    double rho2 = 1.5;
    double huber_ratio = 1.0;  // Huber's threshold in (22), in units of the weight of the l1 norm
    double abs_tol = 1e-5;     // in units of the weight of the l1 norm
    double rel_tol = 1e-3;
    Index max_iter = 500;
};

/// Thresholds of the rejection of outliers, in noise scales.
struct RejectionSettings {
    double huber_threshold;
    double threshold;
    double truncated_variance;  // of standard normal noise within the threshold
    double decay;               // factor of the weight of the noise estimate per sample
    bool use_admm;              // whether Algorithm 2 of [T] solves the convex problem
    ADMMSettings admm;
};

/// Statistics of a stream that a sample is compared with.
struct RejectionStatistics {
    double variance;  // of the noise
    double weight;    // of the entries behind the variance; infinite if it is given
    double n_samples;
    double code_size;             // geometric mean of |h|^2 as far as entries determine it
    double kept_share;            // mean share of the entries that are no outliers
    Vector<double> first_scales;  // noise scales of the first samples, one each

    /// Whether samples only estimate the noise scale.
    bool warming_up() const {
        return n_samples < static_cast<double>(warm_up_samples) && weight < __builtin_inf();
    }
};

/// Codes, outliers, and whether the convex problem was solved, one row or entry for each sample.
template <class T>
struct RejectionCodes {
    Matrix<T> H;
    Matrix<T> R;
    Vector<bool> solved;
};

/// Codes, outliers and median residuals with the basis before each sample.
template <class T>
struct RejectionTrack {
    Matrix<T> H;
    Matrix<T> R;
    Vector<double> error;
};

/// Statistics of the features, and of successive samples, that the basis has learned from.
template <class T>
struct FeatureStatistics {
    Vector<const T> limits;   // moduli of residuals, in noise scales, which half of them exceed
    Matrix<T> counts;         // rows: observed entries, those kept, and kept ones beyond the limit
    Vector<T> last_residual;  // of the latest sample; 0 at entries that were not kept
    Vector<T> last_codes;
    Vector<double> pair_sums;  // of cosines of successive samples, see add_sample
};

/// Approximate robust fits: codes after the last step, residuals and Gram matrices before it.
template <class T>
struct ApproximateFits {
    Matrix<T> H;
    Matrix<T> residuals;
    Matrix<double> steps;
    Cube<double> grams;
    Vector<bool> close;  // whether the error is far below the standard error of the codes
};

}  // namespace thalweg
