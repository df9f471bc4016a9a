#include "kernels/rows.hpp"

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "weighted_grams",
        [](Array2<const T> weights, Array2<const T> X, T keep, T share, Array3<T> grams) {
            require_shapes(weights.shape(1) == X.shape(0) && grams.shape(0) == weights.shape(0) &&
                               grams.shape(1) == X.shape(1) && grams.shape(2) == X.shape(1),
                           "weights (F, n), X (n, K) and grams (F, K, K) must fit.");
            on_target([&]<class Target>() {
                RowKernels<Target, T>::weighted_grams(view(weights), view(X), keep, share,
                                                      view(grams));
            });
        },
        exact("weights"), exact("X"), "keep"_a, "share"_a, exact("grams"), Released(),
        "Set grams[i] to keep grams[i] + share sum_j weights[i, j] x_j x_j', x_j the rows of X.");
    m.def(
        "sweep_rows",
        [](Array3<const T> A, Array2<const T> B, Array2<T> W, Array1<const T> lower,
           Array1<const bool> free, Index sweeps) {
            const size_t F = W.shape(0), K = W.shape(1);
            require_shapes(A.shape(0) == F && A.shape(1) == K && A.shape(2) == K &&
                               B.shape(0) == F && B.shape(1) == K && lower.shape(0) == K &&
                               free.shape(0) == K,
                           "A (F, K, K), B and W (F, K), lower and free (K,) must fit.");
            on_target([&]<class Target>() {
                RowKernels<Target, T>::sweep_rows(view(A), view(B), view(W), view(lower),
                                                  view(free), sweeps);
            });
        },
        exact("A"), exact("B"), exact("W"), exact("lower"), exact("free"), "sweeps"_a, Released(),
        "Lower w'A_f w / 2 - b_f'w in each row w >= lower of W, one entry after the other.");
}

}  // namespace

void bind_rows(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
