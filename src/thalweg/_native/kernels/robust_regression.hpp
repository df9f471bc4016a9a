// Robust regression of samples on a fixed basis.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// The problem argmin_(h, r) |v - U'h - r|^2 / 2 + outlier_weight |r|_1 + ridge |h|^2 / 2, which is
/// that of Huber's function; or |v - U'h|_1 + ridge |h|^2 / 2 if the outlier weight is 0.
///
/// It is solved by ADMM from least squares on, with the penalty parameter `rho` in units of the
/// inverse mean residual of least squares. A sample is solved if loss and dual differ by at most
/// `tol` of the loss, and the dual is as orthogonal to the basis.
struct RegressionProblem {
    double ridge;
    double outlier_weight;
    double rho;
    double tol;
    Index max_iter;
};

template <class Target, class T>
struct RobustRegressionKernels {
    /// Set row s of H to the codes of row s of V, from its observed entries, and solved[s].
    ///
    /// U has the basis vectors as rows.
    static void robust_codes(Matrix<const T> U, Matrix<const T> V, Matrix<const bool> observed,
                             const RegressionProblem& problem, Matrix<T> H, Vector<bool> solved);
};

}  // namespace thalweg
