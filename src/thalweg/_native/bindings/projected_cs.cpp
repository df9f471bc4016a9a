#include "kernels/projected_cs.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

using RecoveredArrays = std::tuple<Array2<double>, Array2<double>, Array1<double>>;

double least_l1_outliers(Array1<const double> v, Array2<const double> A, double bound,
                         Array1<double> h, Array1<double> e) {
    require_shapes(A.shape(1) == v.shape(0) && h.shape(0) == A.shape(0) &&
                       e.shape(0) == v.shape(0) && v.shape(0) > 0,
                   "v and e (n,), n > 0, A (K, n) and h (K,) must fit.");
    return on_target([&]<class Target>() {
        return ProjectedCsKernels<Target>::least_l1_outliers(view(v), view(A), bound, view(h),
                                                             view(e));
    });
}

void recover_sparse(Array2<const double> V, Array2<const bool> observed, Array2<const double> P,
                    const SparseRecovery& problem, double memory, NoiseAverage& noise,
                    const RecoveredArrays& found) {
    const auto& [H, R, error] = found;
    const size_t B = V.shape(0), F = V.shape(1), K = P.shape(0);
    require_shapes(P.shape(1) == F && observed.shape(0) == B && observed.shape(1) == F &&
                       H.shape(0) == B && H.shape(1) == K && R.shape(0) == B && R.shape(1) == F &&
                       error.shape(0) == B,
                   "V, observed and R (B, F), P (K, F), H (B, K) and error (B,) must fit.");
    on_target([&]<class Target>() {
        ProjectedCsKernels<Target>::recover_sparse(view(V), view(observed), view(P), problem,
                                                   memory, noise, {view(H), view(R), view(error)});
    });
}

}  // namespace

void bind_projected_cs(nb::module_& m) {
    nb::class_<SparseRecovery>(
        m, "SparseRecovery",
        "Bound of the residual norm, and smallest outlier, in data units or in noise scales.")
        .def(nb::init<double, bool, double, bool>(), nb::kw_only(), "noise_bound"_a,
             "noise_bound_in_data_units"_a, "support_threshold"_a,
             "support_threshold_in_data_units"_a);
    nb::class_<NoiseAverage>(m, "NoiseAverage", "Running geometric mean of noise scales.")
        .def(nb::init<double, double>(), nb::kw_only(), "scale"_a, "n_samples"_a)
        .def_ro("scale", &NoiseAverage::scale)
        .def_ro("n_samples", &NoiseAverage::n_samples);
    m.def("least_l1_outliers", &least_l1_outliers, exact("v"), exact("A"), "bound"_a, exact("h"),
          exact("e"), Released(),
          "Set h and e = v - A'h to argmin |x|_1 subject to |e - x| <= bound; return the limit "
          "beyond which e is x.");
    m.def("recover_sparse", &recover_sparse, exact("V"), exact("observed"), exact("P"), "problem"_a,
          "memory"_a, "noise"_a, exact("found"), Released(),
          "Separate the rows of V into P'h, outliers and noise, one after the other.");
}

}  // namespace thalweg
