#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/geodesic.hpp"
#include "kernels/l1_tracking.hpp"
#include "kernels/surrogate_tracking.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// A last gradient (direction, code), codes with outliers and errors (H, R, error), and sums (A, B)
/// from Python.
template <class T>
using GradientArrays = std::tuple<Array1<T>, Array1<double>>;
template <class T>
using TrackArrays = std::tuple<Array2<T>, Array2<T>, Array1<double>>;
template <class T>
using SumArrays = std::tuple<Array2<double>, Array2<T>>;

template <class T>
void require_stream(const Array2<T>& U, const Array2<const T>& V,
                    const Array2<const bool>& observed, const Array2<T>& H,
                    const Array1<double>& error) {
    const size_t K = U.shape(0), F = U.shape(1), B = V.shape(0);
    require_shapes(V.shape(1) == F && observed.shape(0) == B && observed.shape(1) == F &&
                       H.shape(0) == B && H.shape(1) == K && error.shape(0) == B,
                   "U (K, F), V and observed (B, F), H (B, K) and error (B,) must fit.");
}

template <class T>
TrackedSamples<T> require_track(const Array2<T>& U, const Array2<const T>& V,
                                const Array2<const bool>& observed, const TrackArrays<T>& found) {
    const auto& [H, R, error] = found;
    require_stream<T>(U, V, observed, H, error);
    require_shapes(R.shape(0) == V.shape(0) && R.shape(1) == V.shape(1), "R and V must fit.");
    return {view(H), view(R), view(error)};
}

template <class T>
void bind_grouse(nb::module_& m) {
    m.def(
        "track_grouse",
        [](Array2<T> U, Array2<const T> V, Array2<const bool> observed, const GeodesicStep& step,
           double n_samples, Array2<T> H, Array1<double> error) {
            require_stream<T>(U, V, observed, H, error);
            return on_target([&]<class Target>() {
                return GeodesicKernels<Target, T>::track_grouse(
                    view(U), view(V), view(observed), step, n_samples, view(H), view(error));
            });
        },
        exact("U"), exact("V"), exact("observed"), "step"_a, "n_samples"_a, exact("H"),
        exact("error"), Released(),
        "Rotate the basis towards the residual of each row of V; return the number of samples.");
}

template <class T>
void bind_l1(nb::module_& m) {
    m.def(
        "track_l1",
        [](Array2<T> U, Array2<const T> V, Array2<const bool> observed, const GeodesicStep& step,
           const RegressionProblem& problem, StepControl& control, const GradientArrays<T>& last,
           const TrackArrays<T>& found) {
            const auto& [direction, code] = last;
            const TrackedSamples<T> samples = require_track<T>(U, V, observed, found);
            require_shapes(direction.shape(0) == U.shape(1) && code.shape(0) == U.shape(0),
                           "last must be (direction (F,), code (K,)).");
            on_target([&]<class Target>() {
                L1TrackingKernels<Target, T>::track_l1(view(U), view(V), view(observed), step,
                                                       problem, control,
                                                       {view(direction), view(code)}, samples);
            });
        },
        exact("U"), exact("V"), exact("observed"), "step"_a, "problem"_a, "control"_a,
        exact("last"), exact("found"), Released(),
        "Rotate the basis along the gradient of the least absolute residual of each row of V.");
}

template <class T>
void bind_surrogate(nb::module_& m) {
    m.def(
        "track_surrogate",
        [](Array2<T> U, Array2<const T> V, Array2<const bool> observed, const SurrogateStep& step,
           const RegressionProblem& problem, const SumArrays<T>& sums, SampleNorm& norm,
           const TrackArrays<T>& found) {
            const auto& [A, B] = sums;
            const size_t K = U.shape(0), F = U.shape(1);
            const TrackedSamples<T> samples = require_track<T>(U, V, observed, found);
            require_shapes(A.shape(0) == K && A.shape(1) == K && B.shape(0) == K && B.shape(1) == F,
                           "sums must be (A (K, K), B (K, F)).");
            on_target([&]<class Target>() {
                SurrogateTrackingKernels<Target, T>::track_surrogate(
                    view(U), view(V), view(observed), step, problem, {view(A), view(B)}, norm,
                    samples);
            });
        },
        exact("U"), exact("V"), exact("observed"), "step"_a, "problem"_a, exact("sums"), "norm"_a,
        exact("found"), Released(),
        "Minimise the surrogate of all samples so far over the basis after each row of V.");
}

void bind_steps(nb::module_& m) {
    nb::enum_<StepRule>(m, "StepRule", "How the angle of a rotation is found.")
        .value("GREEDY", StepRule::greedy)
        .value("CONSTANT", StepRule::constant)
        .value("DIMINISHING", StepRule::diminishing)
        .value("ADAPTIVE", StepRule::adaptive)
        .value("PROXIMAL", StepRule::proximal);
    nb::class_<GeodesicStep>(m, "GeodesicStep", "Rule and factor of rotation angles.")
        .def(nb::init<StepRule, double>(), nb::kw_only(), "rule"_a, "rate"_a);
    nb::class_<StepControl>(m, "StepControl",
                            "m and l of the adaptive step 2^-l / (1 + m), the running mean of "
                            "|h|^2, and the number of samples.")
        .def(nb::init<double, double, double, double>(), nb::kw_only(), "variable"_a, "level"_a,
             "code_size"_a, "n_samples"_a)
        .def_ro("variable", &StepControl::variable)
        .def_ro("level", &StepControl::level)
        .def_ro("code_size", &StepControl::code_size)
        .def_ro("n_samples", &StepControl::n_samples);
    nb::class_<SurrogateStep>(m, "SurrogateStep",
                              "Weight of earlier samples, and sweeps over the basis, per sample.")
        .def(nb::init<double, Index>(), nb::kw_only(), "forgetting"_a, "sweeps"_a);
    nb::class_<SampleNorm>(m, "SampleNorm", "Running mean of the typical norms of samples.")
        .def(nb::init<double, double>(), nb::kw_only(), "mean"_a, "n_samples"_a)
        .def_ro("mean", &SampleNorm::mean)
        .def_ro("n_samples", &SampleNorm::n_samples);
}

}  // namespace

void bind_subspace_tracking(nb::module_& m) {
    bind_steps(m);
    bind_grouse<float>(m);
    bind_grouse<double>(m);
    bind_l1<float>(m);
    bind_l1<double>(m);
    bind_surrogate<float>(m);
    bind_surrogate<double>(m);
}

}  // namespace thalweg
