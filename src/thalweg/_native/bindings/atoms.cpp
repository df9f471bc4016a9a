#include "kernels/atoms.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "descend_atoms",
        [](Array2<const T> A, Array2<const T> B, Array2<T> W, double radius,
           Array1<const bool> free, double tol, double constant, Index max_sweeps) {
            const size_t K = W.shape(0), F = W.shape(1);
            require_shapes(A.shape(0) == K && A.shape(1) == K && B.shape(0) == K &&
                               B.shape(1) == F && free.shape(0) == K,
                           "A (K, K), B and W (K, F) and free (K,) must fit.");
            const Descent last = on_target([&]<class Target>() {
                return AtomKernels<Target, T>::descend_atoms(view(A), view(B), view(W),
                                                             static_cast<T>(radius), view(free),
                                                             {tol, constant, max_sweeps});
            });
            return std::tuple(last.value, last.decrease, last.converged);
        },
        exact("A"), exact("B"), exact("W"), "radius"_a, exact("free"), "tol"_a, "constant"_a,
        "max_sweeps"_a, Released(),
        "Lower <W W', A>/2 - <W, B> over the rows w of W with w >= 0, |w| <= radius, in turns.\n\n"
        "Sweeps end when one decreases value + constant by at most tol of it. Returns the value\n"
        "before the last sweep, its decrease, and whether it is so small.");
}

}  // namespace

void bind_atoms(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
