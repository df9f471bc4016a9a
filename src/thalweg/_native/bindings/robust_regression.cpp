#include "kernels/robust_regression.hpp"

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "robust_codes",
        [](Array2<const T> U, Array2<const T> V, Array2<const bool> observed,
           const RegressionProblem& problem, Array2<T> H, Array1<bool> solved) {
            const size_t K = U.shape(0), F = U.shape(1), B = V.shape(0);
            require_shapes(V.shape(1) == F && observed.shape(0) == B && observed.shape(1) == F &&
                               H.shape(0) == B && H.shape(1) == K && solved.shape(0) == B,
                           "U (K, F), V and observed (B, F), H (B, K) and solved (B,) must fit.");
            on_target([&]<class Target>() {
                RobustRegressionKernels<Target, T>::robust_codes(view(U), view(V), view(observed),
                                                                 problem, view(H), view(solved));
            });
        },
        exact("U"), exact("V"), exact("observed"), "problem"_a, exact("H"), exact("solved"),
        Released(), "Set the codes of each row of V, and whether they were reached.");
}

}  // namespace

void bind_robust_regression(nb::module_& m) {
    nb::class_<RegressionProblem>(
        m, "RegressionProblem",
        "argmin_(h, r) |v - U'h - r|^2 / 2 + outlier_weight |r|_1 + ridge |h|^2 / 2; with a weight "
        "of 0 |v - U'h|_1 + ridge |h|^2 / 2. Solved by ADMM with penalty parameter rho.")
        .def(nb::init<double, double, double, double, Index>(), nb::kw_only(), "ridge"_a,
             "outlier_weight"_a, "rho"_a, "tol"_a, "max_iter"_a);
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
