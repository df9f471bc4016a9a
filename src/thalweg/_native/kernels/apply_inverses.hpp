// Unconstrained minimisers of quadratics with shared or separate Gram matrices.
#pragma once

#include "kernels/gram_matrices.hpp"
#include "kernels/nonnegative_quadratic.hpp"
#include "support/products.hpp"

namespace thalweg {
namespace {

/// Set each row u of U to c'G^-1, c the row of C, where the inverse is accurate.
///
/// Row s of C is right-hand side sample(s) of all.
template <class SampleOf>
void apply_inverses(const GramMatrices& gram, SampleOf sample, Matrix<const double> C,
                    Matrix<double> U) {
    if (gram.shared()) {
        if (gram.trusted[0]) product<double>(Into::set, C, gram.inverse[0], U);
        return;
    }
    for (Index s = 0; s < C.rows; ++s) {
        const Index at = gram.of(sample(s));
        if (!gram.trusted[at]) continue;
        const Matrix<const double> inverse = gram.inverse[at];
        fill(U[s], 0.0);
        add_rows(C[s], [&](Index k) { return inverse[k]; }, U[s]);
    }
}

}  // namespace
}  // namespace thalweg
