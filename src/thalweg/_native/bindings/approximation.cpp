#include "kernels/approximation.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/elastic_net.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

using Seed = Array1<std::uint64_t>;

constexpr const char* approximation_doc =
    "Set W to the average of projected gradient steps, [R] Algorithm 2; rows are samples and atoms."
    "\n\nsets is an ElasticNetSet, or a tuple of lower and upper bounds of the shape of W. The "
    "state seed moves on. Return the number of steps and the largest norm of a gradient so far.";

/// V, H and the weights of the entries, or None.
template <class T>
using Samples = std::tuple<Array2<const T>, Array2<const T>, std::optional<Array2<const T>>>;

template <class T>
std::pair<Index, double> approximate(const Samples<T>& samples, const Array2<T>& W,
                                     const Seed& seed, double gradient_bound,
                                     const AtomSets<T>& sets,
                                     const ApproximationSettings& settings) {
    const auto& [V, H, weights] = samples;
    require_shapes(!weights || (weights->shape(0) == V.shape(0) && weights->shape(1) == V.shape(1)),
                   "weights must have the shape of V.");
    const Matrix<const T> each = weights ? view(*weights) : Matrix<const T>();
    require_shapes(V.shape(0) >= 1 && H.shape(0) == V.shape(0) && W.shape(0) == H.shape(1) &&
                       W.shape(1) == V.shape(1) && seed.shape(0) == 1 && settings.frozen >= 0,
                   "V (n, F), H (n, K), W (K, F) and seed (1,) must fit, with n >= 1.");
    ApproximationState state{seed.data()[0], gradient_bound};
    const Index steps = on_target([&]<class Target>() {
        return ApproximationKernels<Target, T>::robust_approximation(
            {view(V), view(H), each}, view(W), state, sets, settings);
    });
    seed.data()[0] = state.seed;
    return {steps, state.gradient_bound};
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "robust_approximation",
        [](const Samples<T>& samples, Array2<T> W, Seed seed, double gradient_bound,
           const ElasticNetSet& sets, const ApproximationSettings& settings) {
            return approximate<T>(samples, W, seed, gradient_bound, {sets}, settings);
        },
        exact("samples"), exact("W"), exact("seed"), "gradient_bound"_a, "sets"_a, "settings"_a,
        Released(), approximation_doc);
    m.def(
        "robust_approximation",
        [](const Samples<T>& samples, Array2<T> W, Seed seed, double gradient_bound,
           const std::tuple<Array2<const T>, Array2<const T>>& sets,
           const ApproximationSettings& settings) {
            const auto& [lower, upper] = sets;
            require_shapes(lower.shape(0) == W.shape(0) && lower.shape(1) == W.shape(1) &&
                               upper.shape(0) == W.shape(0) && upper.shape(1) == W.shape(1),
                           "lower and upper must have the shape of W.");
            return approximate<T>(samples, W, seed, gradient_bound, {{}, view(lower), view(upper)},
                                  settings);
        },
        exact("samples"), exact("W"), exact("seed"), "gradient_bound"_a, exact("sets"),
        "settings"_a, Released(), approximation_doc);
    m.def(
        "project_elastic_net",
        [](Array1<T> x, const ElasticNetSet& set) {
            on_target([&]<class Target>() { ElasticNetKernels<Target, T>::project(view(x), set); });
        },
        exact("x"), "set"_a, Released(), "Set x to the nearest vector of the set.");
    m.def(
        "sweep_elastic_net_atoms",
        [](Array2<const T> A, Array2<const T> B, Array2<T> W, const ElasticNetSet& set,
           Array1<const bool> free) {
            const size_t K = W.shape(0);
            require_shapes(A.shape(0) == K && A.shape(1) == K && B.shape(0) == K &&
                               B.shape(1) == W.shape(1) && free.shape(0) == K,
                           "A (K, K), B and W (K, F) and free (K,) must fit.");
            const SweepResult result = on_target([&]<class Target>() {
                return ElasticNetKernels<Target, T>::sweep(view(A), view(B), view(W), set,
                                                           view(free));
            });
            return std::pair(result.value, result.decrease);
        },
        exact("A"), exact("B"), exact("W"), "set"_a, exact("free"), Released(),
        "Minimise <W W', A>/2 - <W, B> over each free row of W in the set, one after the other."
        "\n\nReturn the objective before the sweep, and its decrease.");
}

}  // namespace

void bind_approximation(nb::module_& m) {
    nb::class_<ElasticNetSet>(m, "ElasticNetSet",
                              "The set of x >= 0 with l1 sum(x) + l2/2 sum(x^2) <= 1, or = 1.")
        .def(
            "__init__",
            [](ElasticNetSet* self, double l1, double l2, bool equality) {
                new (self) ElasticNetSet{l1, l2, equality};
            },
            nb::kw_only(), "l1"_a, "l2"_a, "equality"_a)
        .def_ro("l1", &ElasticNetSet::l1)
        .def_ro("l2", &ElasticNetSet::l2)
        .def_ro("equality", &ElasticNetSet::equality);
    using Settings = ApproximationSettings;
    nb::class_<Settings>(m, "ApproximationSettings", "Settings of robust_approximation.")
        .def(
            "__init__",
            [](Settings* self, double beta, double l1, double l2, double step_length, Index frozen,
               double tol, Index min_steps, Index max_steps) {
                new (self) Settings{beta, l1, l2, step_length, frozen, tol, min_steps, max_steps};
            },
            nb::kw_only(), "beta"_a, "l1"_a, "l2"_a, "step_length"_a, "frozen"_a, "tol"_a,
            "min_steps"_a, "max_steps"_a);
    bind<float>(m);
    bind<double>(m);
    m.def(
        "random_permutation",
        [](Array1<Index> order, Seed seed) {
            require_shapes(seed.shape(0) == 1, "seed must have shape (1,).");
            on_target([&]<class Target>() {
                ApproximationKernels<Target, double>::random_permutation(view(order),
                                                                         seed.data()[0]);
            });
        },
        exact("order"), exact("seed"), Released(),
        "Set order to 0, ..., n - 1 in random order; the state seed of splitmix64 moves on.");
}

}  // namespace thalweg
