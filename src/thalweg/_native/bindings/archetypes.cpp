#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/simplex.hpp"
#include "kernels/supports.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
void bind_sweep(nb::module_& m) {
    m.def(
        "sweep_supports",
        [](Array2<const T> Q, Array2<const T> P, Array2<T> H, Index sweeps) {
            const size_t K = H.shape(0);
            require_shapes(
                Q.shape(0) == K && Q.shape(1) == K && P.shape(0) == K && P.shape(1) == H.shape(1),
                "Q (K, K), P and H (K, n) must fit.");
            on_target([&]<class Target>() {
                SupportKernels<Target, T>::sweep_supports(view(Q), view(P), view(H), sweeps);
            });
        },
        exact("Q"), exact("P"), exact("H"), "sweeps"_a, Released(),
        "Lower tr(H'QH)/2 - <P, H> over the positive entries of H, one after the other.");
}

void bind_simplex(nb::module_& m) {
    nb::class_<SimplexSettings>(m, "SimplexSettings", "Settings of simplex_codes.")
        .def(
            "__init__",
            [](SimplexSettings* self, Index max_steps, double tol) {
                new (self) SimplexSettings{max_steps, tol};
            },
            nb::kw_only(), "max_steps"_a, "tol"_a);
    m.def(
        "simplex_codes",
        [](Array3<const double> G, Array2<const double> C, Array2<double> W, Array1<double> gaps,
           const SimplexSettings& settings) {
            const size_t n = W.shape(0), K = W.shape(1);
            require_shapes(K >= 1 && (G.shape(0) == 1 || G.shape(0) == n) && G.shape(1) == K &&
                               G.shape(2) == K && C.shape(0) == n && C.shape(1) == K &&
                               gaps.shape(0) == n,
                           "G (1 or n, K, K), C and W (n, K) and gaps (n,) must fit, with K >= 1.");
            on_target([&]<class Target>() {
                SimplexKernels<Target>::simplex_codes(view(G), view(C), view(W), view(gaps),
                                                      settings);
            });
        },
        exact("G"), exact("C"), exact("W"), exact("gaps"), "settings"_a, Released(),
        "Minimise w'Gw/2 - c'w over the simplex for each row c of C, from the row w of W on."
        "\n\ngaps are set to bounds of the distance of each objective from its minimum.");
}

using Proposals = std::tuple<Array1<Index>, Array1<double>, Array1<Index>, Array1<double>>;

void bind_swaps(nb::module_& m) {
    m.def(
        "propose_swaps",
        [](Array1<const double> diagonal, Array2<const double> S, Array2<const double> H,
           const Proposals& proposals) {
            const size_t K = H.shape(0), n = H.shape(1);
            const auto& [removed, cost, added, gain] = proposals;
            require_shapes(diagonal.shape(0) == K && S.shape(0) == K && S.shape(1) == n &&
                               removed.shape(0) == n && cost.shape(0) == n && added.shape(0) == n &&
                               gain.shape(0) == n,
                           "diagonal (K,), S and H (K, n) and four proposals (n,) must fit.");
            on_target([&]<class Target>() {
                SwapKernels<Target>::propose_swaps(
                    view(diagonal), view(S), view(H),
                    {view(removed), view(cost), view(added), view(gain)});
            });
        },
        exact("diagonal"), exact("S"), exact("H"), exact("proposals"), Released(),
        "Find in each column of H the cheapest entry to remove, and the best one to add."
        "\n\nproposals is a tuple of arrays to fill: row and cost of the removal, row and gain of "
        "the addition.");
    m.def(
        "swap_best_pairs",
        [](Array2<const double> Q, Array2<const double> S, Array2<double> H,
           Array1<const bool> busy, double min_gain) {
            const size_t K = H.shape(0), n = H.shape(1);
            require_shapes(Q.shape(0) == K && Q.shape(1) == K && S.shape(0) == K &&
                               S.shape(1) == n && busy.shape(0) == n,
                           "Q (K, K), S and H (K, n) and busy (n,) must fit.");
            return on_target([&]<class Target>() {
                return SwapKernels<Target>::swap_best_pairs(view(Q), view(S), view(H), view(busy),
                                                            min_gain);
            });
        },
        exact("Q"), exact("S"), exact("H"), exact("busy"), "min_gain"_a, Released(),
        "Swap a nonzero of each column of H with a zero, if the best pair gains more than min_gain."
        "\n\nColumns that are busy stay. Return the number of swaps.");
}

}  // namespace

void bind_archetypes(nb::module_& m) {
    bind_simplex(m);
    bind_swaps(m);
    bind_sweep<float>(m);
    bind_sweep<double>(m);
}

}  // namespace thalweg
