#include "kernels/sample_means.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
using SampleTuple = std::tuple<Array2<const T>, std::optional<Array2<const T>>, Array2<const T>>;
template <class T>
using MeanTuple = std::tuple<Array2<T>, Array2<T>>;

template <class T>
void bind(nb::module_& m) {
    m.def(
        "add_samples",
        [](const SampleTuple<T>& samples, double share, const MeanTuple<const T>& before,
           const MeanTuple<T>& after) {
            const auto& [V, R, H] = samples;
            const auto& [A, B] = before;
            const auto& [new_A, new_B] = after;
            const size_t n = V.shape(0), F = V.shape(1), K = H.shape(1);
            require_shapes(
                n > 0 && H.shape(0) == n && (!R || (R->shape(0) == n && R->shape(1) == F)),
                "V and R (n, F) and H (n, K) must fit.");
            require_shapes(A.shape(0) == K && A.shape(1) == K && B.shape(0) == K &&
                               B.shape(1) == F && new_A.shape(0) == K && new_A.shape(1) == K &&
                               new_B.shape(0) == K && new_B.shape(1) == F,
                           "A (K, K) and B (K, F) must fit, before and after.");
            return on_target([&]<class Target>() {
                return SampleMeanKernels<Target, T>::add_samples(
                    {view(V), R ? view(*R) : Matrix<const T>(), view(H)}, share, {view(A), view(B)},
                    {view(new_A), view(new_B)});
            });
        },
        exact("samples"), "share"_a, exact("before"), exact("after"), Released(),
        "Average h h' and h (v - r)' over samples v with outliers r and codes h, and over earlier\n"
        "ones: samples is (V, R, H), R None without outliers, with the weight share; before and "
        "after are means (A, B).\n"
        "Returns the mean of |v - r|^2 over the samples.");
}

}  // namespace

void bind_sample_means(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
