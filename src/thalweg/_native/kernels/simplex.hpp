// Least squares over the simplex: an active set for each right-hand side.
#pragma once

#include "support/array.hpp"

namespace thalweg {

struct SimplexSettings {
    /// Largest number of steps for each row.
    Index max_steps;
    /// Gap at which a row ends, relative to the largest entry of c and of the diagonal of G.
    double tol;
};

template <class Target>
struct SimplexKernels {
    /// Minimise w'Gw/2 - c'w over w >= 0 with sum 1, for each row c of C, from the row w of W on.
    ///
    /// G has one matrix for all rows, or one for each. The support grows by the entry of the
    /// steepest slope and shrinks where an entry becomes zero; on a support the minimum is exact.
    /// gaps are set to the largest slope on the support minus the least of all slopes, which is at
    /// least the distance of the objective from its minimum.
    static void simplex_codes(Cube<const double> G, Matrix<const double> C, Matrix<double> W,
                              Vector<double> gaps, const SimplexSettings& settings);
};

}  // namespace thalweg
