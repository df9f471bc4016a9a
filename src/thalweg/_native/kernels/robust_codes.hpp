// Robust codes: exact codes and closed-form l1 outliers in turns.
#pragma once

#include "kernels/gram_matrices.hpp"
#include "kernels/l1_penalty.hpp"
#include "support/array.hpp"

namespace thalweg {

/// The penalty l1 sum(h) + l2 |h|^2/2 of the codes, and how the alternation runs.
struct AlternationSettings {
    double l1;
    double l2;
    double relaxation;  // over-relaxation of the codes, below 2
    double tol;         // relative to the loss
    double noise_tol;   // in units of the noise in the codes
    Index max_iter;
    bool warm_start;  // whether the codes start at H
};

template <class Target, class T>
struct RobustCodeKernels {
    struct Problem {
        Matrix<const T> V;            // (n, F)
        Matrix<const bool> observed;  // (n, F), or without rows if all entries are observed
        Matrix<const T> scales;       // (n, F), roots of weights, or without rows if all are 1
        Matrix<const T> W;            // (K, F)
        GramMatrices gram;            // with relaxation * l2 on the diagonal
        L1Penalty outliers;
        AlternationSettings settings;
    };
    struct Codes {
        Matrix<T> H;     // (n, K)
        Matrix<T> R;     // (n, F)
        Vector<T> loss;  // objective
        Vector<T> cost;  // its penalties
        Vector<bool> solved;
    };

    /// Lower |v - W'h - r|^2/2 + weight |r|_1 + l1 sum(h) + l2 |h|^2/2 over h >= 0 and bounded r,
    /// for each row v of V, by minimisation over r and over h in turns. With scales s, W'h is
    /// replaced by s W'h, and V and R are in the same units.
    ///
    /// Without a warm start the codes start at the minimum without outliers, and the weight comes
    /// down from the mean residual. A row has converged when an alternation lowers its loss by at
    /// most `tol` of it. The part of the codes in this decrease is known without the new
    /// residual. With `noise_tol` > 0 a row has also converged when the codes gain at most this
    /// multiple of K / n_observed of |v - W'h - r|^2/2; its outliers may then be those of the
    /// codes before.
    static void alternate_l1(const Problem& problem, Codes codes);
};

}  // namespace thalweg
