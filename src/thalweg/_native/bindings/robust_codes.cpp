#include "kernels/robust_codes.hpp"

#include <nanobind/stl/optional.h>

#include "bindings/gram_matrices.hpp"
#include "bindings/module.hpp"
#include "kernels/envelope.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
using CodeTuple = std::tuple<Array2<T>, Array2<T>, Array1<T>, Array1<T>, Array1<bool>>;

void bind_settings(nb::module_& m) {
    nb::class_<L1Penalty>(m, "L1Penalty",
                          "The penalty weight |r|_1 of outliers with lower <= r <= upper.")
        .def(
            "__init__",
            [](L1Penalty* self, double weight, double upper, double lower) {
                new (self) L1Penalty{weight, upper, lower};
            },
            nb::kw_only(), "weight"_a, "upper"_a, "lower"_a)
        .def_ro("weight", &L1Penalty::weight)
        .def_ro("upper", &L1Penalty::upper)
        .def_ro("lower", &L1Penalty::lower);
    nb::class_<AlternationSettings>(
        m, "AlternationSettings",
        "The penalty l1 sum(h) + l2 |h|^2/2 of codes, and how alternate_l1 runs.")
        .def(
            "__init__",
            [](AlternationSettings* self, double l1, double l2, double relaxation, double tol,
               double noise_tol, Index max_iter, bool warm_start) {
                new (self)
                    AlternationSettings{l1, l2, relaxation, tol, noise_tol, max_iter, warm_start};
            },
            nb::kw_only(), "l1"_a, "l2"_a, "relaxation"_a, "tol"_a, "noise_tol"_a, "max_iter"_a,
            "warm_start"_a)
        .def_ro("l1", &AlternationSettings::l1)
        .def_ro("l2", &AlternationSettings::l2)
        .def_ro("relaxation", &AlternationSettings::relaxation)
        .def_ro("tol", &AlternationSettings::tol)
        .def_ro("noise_tol", &AlternationSettings::noise_tol)
        .def_ro("max_iter", &AlternationSettings::max_iter)
        .def_ro("warm_start", &AlternationSettings::warm_start);
}

template <class T>
void alternate(Array2<const T> V, std::optional<Array2<const bool>> observed,
               std::optional<Array2<const T>> scales, Array2<const T> W, const GramTuple& gram,
               const L1Penalty& outliers, const AlternationSettings& settings,
               const CodeTuple<T>& codes) {
    const size_t n = V.shape(0), F = V.shape(1), K = W.shape(0);
    const auto& [H, R, loss, cost, solved] = codes;
    require_shapes(W.shape(1) == F && H.shape(0) == n && H.shape(1) == K && R.shape(0) == n &&
                       R.shape(1) == F && loss.shape(0) == n && cost.shape(0) == n &&
                       solved.shape(0) == n,
                   "V and R (n, F), W (K, F), H (n, K), loss, cost and solved (n,) must fit.");
    require_shapes(!observed || (observed->shape(0) == n && observed->shape(1) == F),
                   "observed must have the shape of V.");
    require_shapes(!scales || (scales->shape(0) == n && scales->shape(1) == F),
                   "scales must have the shape of V.");
    const Matrix<const bool> mask = observed ? view(*observed) : Matrix<const bool>();
    const Matrix<const T> roots = scales ? view(*scales) : Matrix<const T>();
    const GramMatrices grams = view(gram, n, K);
    on_target([&]<class Target>() {
        RobustCodeKernels<Target, T>::alternate_l1(
            {view(V), mask, roots, view(W), grams, outliers, settings},
            {view(H), view(R), view(loss), view(cost), view(solved)});
    });
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "alternate_l1", &alternate<T>, exact("V"), exact("observed").none(), exact("scales").none(),
        exact("W"), exact("gram"), "outliers"_a, "settings"_a, exact("codes"), Released(),
        "Alternate between the outliers r of each row v of V and its codes h >= 0, to lower\n"
        "|v - W'h - r|^2/2 + weight |r|_1 + l1 sum(h) + l2 |h|^2/2.\n\n"
        "codes is (H, R, loss, cost, solved); gram is (G, inverse, trusted, place) with\n"
        "relaxation * l2 on the diagonals. V is 0 at missing entries. With scales s, the model is\n"
        "s W'h, and R is in the same units.");
    m.def(
        "envelope_l1",
        [](Array2<const T> Z, const L1Penalty& penalty, Array2<T> E, Array1<T> values) {
            require_shapes(E.shape(0) == Z.shape(0) && E.shape(1) == Z.shape(1) &&
                               values.shape(0) == Z.shape(0),
                           "Z and E (n, F) and values (n,) must fit.");
            on_target([&]<class Target>() {
                EnvelopeKernels<Target, T>::envelope_l1(view(Z), penalty, view(E), view(values));
            });
        },
        exact("Z"), "penalty"_a, exact("E"), exact("values"), Released(),
        "Split each row z into outliers r and noise e = z - r, into the rows of E; values are\n"
        "min_r |z - r|^2/2 + weight |r|_1 subject to lower <= r <= upper.");
}

}  // namespace

void bind_robust_codes(nb::module_& m) {
    bind_settings(m);
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
