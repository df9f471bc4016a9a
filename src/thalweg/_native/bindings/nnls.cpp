#include "kernels/nnls.hpp"

#include "bindings/gram_matrices.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {

void bind_nnls(nb::module_& m) {
    m.def(
        "nonnegative_codes",
        [](const GramTuple& gram, Array2<const double> C, bool guessed, Array2<double> H,
           Array2<bool> passive, Array1<bool> solved, Index max_pivots) {
            const size_t n = C.shape(0), K = C.shape(1);
            require_shapes(H.shape(0) == n && H.shape(1) == K && passive.shape(0) == n &&
                               passive.shape(1) == K && solved.shape(0) == n,
                           "C, H and passive (n, K) and solved (n,) must fit.");
            const GramMatrices grams = view(gram, n, K);
            on_target([&]<class Target>() {
                NnlsKernels<Target, double>::nonnegative_codes(
                    grams, view(C), guessed, {view(H), view(passive), view(solved)}, max_pivots);
            });
        },
        exact("gram"), exact("C"), "guessed"_a, exact("H"), exact("passive"), exact("solved"),
        "max_pivots"_a, Released(),
        "Set each row h of H to argmin_{h >= 0} h'Gh/2 - c'h, c the row of C.\n\n"
        "gram is (G, inverse, trusted, place), see thalweg.solvers.nnls.Gram. passive holds the\n"
        "supports, before the call as well if they are guessed.");
}

}  // namespace thalweg
