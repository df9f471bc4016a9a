// Gram matrices of several right-hand sides, from the tuple (G, inverse, trusted, place).
#pragma once

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "kernels/gram_matrices.hpp"

namespace thalweg {

using GramTuple =
    std::tuple<Array3<const double>, Array3<const double>, Array1<const bool>, Array1<const Index>>;

/// Return views for n right-hand sides of K entries, after a check of shapes and indices.
inline GramMatrices view(const GramTuple& gram, size_t n, size_t K) {
    const auto& [G, inverse, trusted, place] = gram;
    require_shapes(G.shape(0) >= 1 || n == 0, "gram must have a matrix.");
    require_shapes(G.shape(1) == K && G.shape(2) == K && inverse.shape(0) == G.shape(0) &&
                       inverse.shape(1) == K && inverse.shape(2) == K &&
                       trusted.shape(0) == G.shape(0),
                   "G and inverse (m, K, K) and trusted (m,) of gram must fit.");
    require_shapes(place.shape(0) == 0 || place.shape(0) == n,
                   "place of gram must be (n,) or (0,).");
    for (size_t i = 0; i < place.shape(0); ++i)
        require_shapes(0 <= place(i) && place(i) < static_cast<Index>(G.shape(0)),
                       "place of gram must hold indices of matrices.");
    return {view(G), view(inverse), view(trusted), view(place)};
}

}  // namespace thalweg
