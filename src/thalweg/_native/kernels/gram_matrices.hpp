// Gram matrices that right-hand sides share.
#pragma once

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
};

}  // namespace thalweg
