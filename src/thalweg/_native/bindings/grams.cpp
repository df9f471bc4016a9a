#include "kernels/grams.hpp"

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {

void bind_grams(nb::module_& m) {
    m.def(
        "subset_grams",
        [](Array2<const double> W, Array2<const bool> selected, Array2<const double> whole,
           double min_share, Array3<double> grams) {
            const size_t F = W.shape(0), K = W.shape(1), n = selected.shape(0);
            require_shapes(selected.shape(1) == F && whole.shape(0) == K && whole.shape(1) == K &&
                               grams.shape(0) == n && grams.shape(1) == K && grams.shape(2) == K,
                           "W (F, K), selected (n, F), whole (K, K) and grams (n, K, K) must fit.");
            on_target([&]<class Target>() {
                GramKernels<Target, double>::subset_grams(view(W), view(selected), view(whole),
                                                          min_share, view(grams));
            });
        },
        exact("W"), exact("selected"), exact("whole"), "min_share"_a, exact("grams"), Released(),
        "Set grams[s] to the Gram matrix of the rows of W that row s of `selected` has flags "
        "for.\n\n"
        "whole is that of all rows, from which others are subtracted if every diagonal entry\n"
        "keeps the share min_share.");
    m.def(
        "definite_inverses",
        [](Array3<const double> grams, double max_condition, Array3<double> inverses,
           Array1<bool> trusted) {
            const size_t n = grams.shape(0), K = grams.shape(1);
            require_shapes(grams.shape(2) == K && inverses.shape(0) == n &&
                               inverses.shape(1) == K && inverses.shape(2) == K &&
                               trusted.shape(0) == n,
                           "grams and inverses (n, K, K) and trusted (n,) must fit.");
            on_target([&]<class Target>() {
                GramKernels<Target, double>::definite_inverses(view(grams), max_condition,
                                                               view(inverses), view(trusted));
            });
        },
        exact("grams"), "max_condition"_a, exact("inverses"), exact("trusted"), Released(),
        "Invert definite matrices; trusted are those with a condition number below the limit.");
}

}  // namespace thalweg
