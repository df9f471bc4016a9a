// Rotations of a basis along the gradient of the least absolute residual (GRASTA, ROSETA).
#pragma once

#include "kernels/geodesic.hpp"
#include "kernels/robust_regression.hpp"

namespace thalweg {

/// State of the step size: m and l of the adaptive step 2^-l / (1 + m), the running mean of |h|^2,
/// and the number of samples.
struct StepControl {
    double variable;
    double level;
    double code_size;
    double n_samples;
};

/// The factors of the last gradient, a matrix of rank one and norm one.
template <class T>
struct LastGradient {
    Vector<T> direction;
    Vector<double> code;
};

/// Codes, outliers and median residuals of samples.
template <class T>
struct TrackedSamples {
    Matrix<T> H;
    Matrix<T> R;
    Vector<double> error;
};

template <class Target, class T>
struct L1TrackingKernels {
    /// Rotate the basis after each row v of V along the gradient of min_h |v - U'h|_1.
    ///
    /// The slopes of the loss, projected off the basis, are the direction; codes and outliers are
    /// those of the basis before each sample. U has the basis vectors as rows.
    static void track_l1(Matrix<T> U, Matrix<const T> V, Matrix<const bool> observed,
                         const GeodesicStep& step, const RegressionProblem& problem,
                         StepControl& control, LastGradient<T> last, TrackedSamples<T> found);
};

}  // namespace thalweg
