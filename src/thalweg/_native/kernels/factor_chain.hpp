// Codes of consecutive samples that follow autoregressions, each of unit variance.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// y_t = W h_t + e_t, where the entries of e_t have variances noise_f / weight_tf; an entry of
/// weight 0 is missing. h_{t+1} = diag(phi^step) h_t + w_t, with h_t of unit variance.
template <class T>
struct FactorSeries {
    Matrix<const T> Y;           // a row for each sample; anything at weight 0
    Matrix<const T> weights;     // of Y
    Vector<const double> steps;  // between samples
};

struct FactorParameters {
    Matrix<const double> loadings;  // W, of shape (F, K)
    Vector<const double> noise;
    Vector<const double> phi;
};

/// Moments of the codes: means (N, K), covariances (N, K, K), and E h_t h_{t+1} of each code.
struct CodeMoments {
    Matrix<double> mean;
    Cube<double> covariance;
    Matrix<double> lagged;
};

template <class Target, class T>
struct FactorKernels {
    /// Set the moments of the codes given all samples, or with `smoothed` false given those up to t
    /// (then `lagged` is left alone). Return the log-likelihood.
    static double codes(const FactorSeries<T>& series, const FactorParameters& parameters,
                        bool smoothed, const CodeMoments& moments);

    /// Set each phi to the maximum of the expected log-likelihood of the codes.
    static void learn_phi(const CodeMoments& moments, Vector<const double> steps,
                          Vector<double> phi);
};

}  // namespace thalweg
