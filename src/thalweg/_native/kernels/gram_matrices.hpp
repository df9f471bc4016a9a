// Gram matrices that right-hand sides share.
#pragma once

#include <limits>

#include "support/array.hpp"

namespace thalweg {

/// Gram matrices, their inverses, and which of them each right-hand side uses.
struct GramMatrices {
    Cube<const double> G;
    Cube<const double> inverse;  // valid where trusted
    Vector<const bool> trusted;
    Vector<const Index> place;  // the matrix of each right-hand side; if empty, the first of all

    THALWEG_INLINE bool shared() const { return place.size == 0; }
    THALWEG_INLINE Index of(Index sample) const { return shared() ? 0 : place[sample]; }

    /// Return the relative variance of rounding errors of codes: eps^2 times the sum of the
    /// variance inflation factors G_kk (G^-1)_kk, each of which is at least 1.
    THALWEG_INLINE double rounding(Index sample) const {
        constexpr double eps = std::numeric_limits<double>::epsilon();
        const Index at = of(sample), K = G.cols;
        double inflation = 0.0;
        for (Index k = 0; k < K; ++k)
            inflation += trusted[at] ? G[at](k, k) * inverse[at](k, k) : 1.0;
        return eps * eps * inflation;
    }
};

}  // namespace thalweg
