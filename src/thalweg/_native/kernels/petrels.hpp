// Row-wise recursive least squares, and codes of samples with and without outliers.
#pragma once

#include "kernels/petrels_types.hpp"

namespace thalweg {

template <class Target, class T>
struct PetrelsKernels {
    /// Set the rows of H to argmin_h |x - U h|^2 over the observed entries of the rows of X.
    ///
    /// With fewer entries than codes they are close to those of least norm.
    static void least_squares_codes(Samples<T> samples, Cube<const T> U, Matrix<T> H);

    /// Take the rows of H to argmin_h sum_i huber(x_i - u_i'h; threshold) over observed entries.
    ///
    /// Where only few entries were observed, squares are minimised. `solved` says whether the
    /// minimum was reached within the maximum number of steps.
    static void huber_codes(Samples<T> samples, Cube<const T> U, double threshold, Index max_steps,
                            Matrix<T> H, Vector<bool> solved);

    /// Do `huber_codes` by Algorithm 2 of [T], from codes of 0.
    static void admm_codes(Samples<T> samples, Cube<const T> U, double threshold,
                           const ADMMSettings& settings, Matrix<T> H, Vector<bool> solved);

    /// Set codes close to those of `huber_codes`, for samples of many entries, all observed: the
    /// start of `codes_with_rejection`. Gram matrices are of the entries within `limit`.
    static void approximate_huber_codes(Matrix<const T> X, Cube<const T> U, double threshold,
                                        double limit, ApproximateFits<T> fits);

    /// Set codes and outliers of samples, as `track_with_rejection` finds them.
    ///
    /// With a noise scale of 0 each sample has one of its own. The prior precision is the squared
    /// noise scale over the typical square of a code.
    static void codes_with_rejection(Samples<T> samples, Cube<const T> U, double noise_scale,
                                     double prior_precision, const RejectionSettings& settings,
                                     RejectionCodes<T> codes);

    /// Follow samples in order, with codes by least squares on the observed entries.
    ///
    /// Codes and median residuals are those with the basis before each sample.
    static void track_least_squares(Samples<T> samples, RowFactors<T> rows,
                                    const RowUpdate& settings, Matrix<T> H, Vector<double> error);

    /// Follow samples in order; reject the entries that do not fit, and learn from the others.
    static void track_with_rejection(Samples<T> samples, RowFactors<T> rows,
                                     RejectionStatistics& statistics, const RowUpdate& row_update,
                                     const RejectionSettings& settings, RejectionTrack<T> track,
                                     FeatureStatistics<T> features);
};

}  // namespace thalweg
