// Block coordinate descent over the atoms of a dictionary.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// How long the descent runs.
struct DescentSettings {
    double tol;       // relative decrease of value + constant per sweep at which it stops
    double constant;  // added to the objective
    Index max_sweeps;
};

/// The last sweep of a descent.
struct Descent {
    double value;     // objective before the sweep
    double decrease;  // what the sweep lowered it by
    bool converged;
};

template <class Target, class T>
struct AtomKernels {
    /// Lower <W W', A>/2 - <W, B> over the rows w of W with w >= 0 and |w| <= radius, by sweeps of
    /// exact minimisation over one row after the other.
    ///
    /// Rows that are not free stay as they are.
    static Descent descend_atoms(Matrix<const T> A, Matrix<const T> B, Matrix<T> W, T radius,
                                 Vector<const bool> free, DescentSettings settings);
};

}  // namespace thalweg
