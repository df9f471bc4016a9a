#include "kernels/petrels.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Return samples, if their mask and the rows of the basis fit.
template <class T>
Samples<T> samples_of(const Array2<const T>& X, const Array2<const bool>& observed,
                      Cube<const T> U) {
    constexpr Index lanes = block_bytes / static_cast<Index>(sizeof(T));
    const Samples<T> samples{view(X), view(observed)};
    require_shapes(
        samples.observed.rows == samples.X.rows && samples.observed.cols == samples.X.cols,
        "X and observed must have the same shape (n, F).");
    require_shapes(U.cols == lanes && U.size == (samples.X.cols + lanes - 1) / lanes &&
                       U.rows > 0 && U.size > 0,
                   "U must have the F rows of a basis in blocks, see pack_rows.");
    return samples;
}

template <class T>
void require_codes(Samples<T> samples, Cube<const T> U, Matrix<T> H) {
    require_shapes(H.rows == samples.X.rows && H.cols == U.rows, "H must have the shape (n, K).");
}

void require_size(Index size, Index n) {
    require_shapes(size == n, "Results of samples must have n entries.");
}

template <class T>
void require_like(Samples<T> samples, Matrix<T> R) {
    require_shapes(R.rows == samples.X.rows && R.cols == samples.X.cols,
                   "R must have the shape of X.");
}

template <class T>
using FactorArrays = std::tuple<Array3<T>, Array3<T>, Array3<T>>;

template <class T>
RowFactors<T> factors_of(const FactorArrays<T>& arrays) {
    const RowFactors<T> rows{view(std::get<0>(arrays)), view(std::get<1>(arrays)),
                             view(std::get<2>(arrays))};
    const Index K = rows.U.rows;
    require_shapes(rows.D.size == rows.U.size && rows.D.rows == K && rows.D.cols == rows.U.cols &&
                       rows.L.size == rows.U.size && rows.L.rows == K * (K - 1) / 2 &&
                       rows.L.cols == rows.U.cols,
                   "U and D (blocks, K, lanes) and L (blocks, K (K - 1) / 2, lanes) must fit.");
    return rows;
}

template <class T>
using FeatureArrays = std::tuple<Array1<const T>, Array2<T>, Array1<T>, Array1<T>, Array1<double>>;

template <class T>
FeatureStatistics<T> features_of(const FeatureArrays<T>& arrays, Index F, Index K) {
    const auto& [limits, counts, residual, codes, pair_sums] = arrays;
    const FeatureStatistics<T> features{view(limits), view(counts), view(residual), view(codes),
                                        view(pair_sums)};
    require_shapes(features.limits.size == F && features.counts.rows == 3 &&
                       features.counts.cols == F && features.last_residual.size == F &&
                       features.last_codes.size == K && features.pair_sums.size == 6,
                   "features must have the shapes (F,), (3, F), (F,), (K,) and (6,).");
    return features;
}

template <class T>
void bind_codes(nb::module_& m) {
    m.def(
        "least_squares_codes",
        [](Array2<const T> X, Array2<const bool> observed, Array3<const T> U, Array2<T> H) {
            const Samples<T> samples = samples_of(X, observed, view(U));
            require_codes(samples, view(U), view(H));
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::least_squares_codes(samples, view(U), view(H));
            });
        },
        exact("X"), exact("observed"), exact("U"), exact("H"), Released(),
        "Set the rows of H to argmin_h |x - U h|^2 over the observed entries of the rows of X.");
    m.def(
        "huber_codes",
        [](Array2<const T> X, Array2<const bool> observed, Array3<const T> U,
           double huber_threshold, Index max_iter, Array2<T> H, Array1<bool> solved) {
            const Samples<T> samples = samples_of(X, observed, view(U));
            require_codes(samples, view(U), view(H));
            require_size(view(solved).size, samples.X.rows);
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::huber_codes(samples, view(U), huber_threshold, max_iter,
                                                       view(H), view(solved));
            });
        },
        exact("X"), exact("observed"), exact("U"), "huber_threshold"_a, "max_iter"_a, exact("H"),
        exact("solved"), Released(),
        "Take the rows of H to argmin_h sum_i huber(x_i - u_i'h) over observed entries i.");
    m.def(
        "admm_codes",
        [](Array2<const T> X, Array2<const bool> observed, Array3<const T> U,
           double huber_threshold, const ADMMSettings& settings, Array2<T> H, Array1<bool> solved) {
            const Samples<T> samples = samples_of(X, observed, view(U));
            require_codes(samples, view(U), view(H));
            require_size(view(solved).size, samples.X.rows);
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::admm_codes(samples, view(U), huber_threshold, settings,
                                                      view(H), view(solved));
            });
        },
        exact("X"), exact("observed"), exact("U"), "huber_threshold"_a, "settings"_a, exact("H"),
        exact("solved"), Released(),
        "Set the rows of H to argmin_h sum_i huber(x_i - u_i'h) by Algorithm 2 of [T].");
}

template <class T>
void bind_rejection(nb::module_& m) {
    m.def(
        "approximate_huber_codes",
        [](Array2<const T> X, Array3<const T> U, double huber_threshold, double limit,
           std::tuple<Array2<T>, Array2<T>, Array2<double>, Array3<double>, Array1<bool>> fits) {
            const auto& [H, residuals, steps, grams, close] = fits;
            const ApproximateFits<T> out{view(H), view(residuals), view(steps), view(grams),
                                         view(close)};
            const Index n = static_cast<Index>(X.shape(0)), K = static_cast<Index>(U.shape(1));
            const Matrix<const bool> no_mask(nullptr, n, static_cast<Index>(X.shape(1)));
            const Samples<T> samples{view(X), no_mask};
            require_shapes(U.shape(2) * sizeof(T) == block_bytes &&
                               U.shape(0) == (X.shape(1) + U.shape(2) - 1) / U.shape(2),
                           "U must have the F rows of a basis in blocks, see pack_rows.");
            require_codes(samples, view(U), out.H);
            require_like(samples, out.residuals);
            require_shapes(out.steps.rows == n && out.steps.cols == K && out.grams.size == n &&
                               out.grams.rows == K && out.grams.cols == K && out.close.size == n,
                           "Steps (n, K), Gram matrices (n, K, K) and close (n,) must fit.");
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::approximate_huber_codes(view(X), view(U),
                                                                   huber_threshold, limit, out);
            });
        },
        exact("X"), exact("U"), "huber_threshold"_a, "limit"_a, exact("fits"), Released(),
        "Set codes, residuals, last steps, Gram matrices and accuracy of approximate robust fits.");
    m.def(
        "codes_with_rejection",
        [](Array2<const T> X, Array2<const bool> observed, Array3<const T> U, double noise_scale,
           double prior_precision, const RejectionSettings& settings,
           std::tuple<Array2<T>, Array2<T>, Array1<bool>> codes) {
            const auto& [H, R, solved] = codes;
            const Samples<T> samples = samples_of(X, observed, view(U));
            require_codes(samples, view(U), view(H));
            require_like(samples, view(R));
            require_size(view(solved).size, samples.X.rows);
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::codes_with_rejection(
                    samples, view(U), noise_scale, prior_precision, settings,
                    RejectionCodes<T>{view(H), view(R), view(solved)});
            });
        },
        exact("X"), exact("observed"), exact("U"), "noise_scale"_a, "prior_precision"_a,
        "settings"_a, exact("codes"), Released(),
        "Set codes (H, R, solved) of the rows of X: robust fit, rejection, least squares.");
}

/// Variance, weight, number of samples, size of codes, share kept, and first noise scales.
using StatisticsArrays = std::tuple<double, double, double, double, double, Array1<double>>;

template <class T>
void bind_tracking(nb::module_& m) {
    m.def(
        "track_least_squares",
        [](Array2<const T> X, Array2<const bool> observed, FactorArrays<T> rows,
           const RowUpdate& settings, Array2<T> H, Array1<double> error) {
            const RowFactors<T> factors = factors_of(rows);
            const Samples<T> samples = samples_of<T>(X, observed, factors.U);
            require_codes<T>(samples, factors.U, view(H));
            require_size(view(error).size, samples.X.rows);
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::track_least_squares(samples, factors, settings, view(H),
                                                               view(error));
            });
        },
        exact("X"), exact("observed"), exact("rows"), "settings"_a, exact("H"), exact("error"),
        Released(), "Follow the rows of X in order; rows (U, D, L), H and error are changed.");
    m.def(
        "track_with_rejection",
        [](Array2<const T> X, Array2<const bool> observed, FactorArrays<T> rows,
           StatisticsArrays statistics, const RowUpdate& row_update,
           const RejectionSettings& rejection,
           std::tuple<Array2<T>, Array2<T>, Array1<double>> track, FeatureArrays<T> features) {
            const auto& [H, R, error] = track;
            const auto& [variance, weight, n_samples, code_size, kept_share, scales] = statistics;
            const RowFactors<T> factors = factors_of(rows);
            const Samples<T> samples = samples_of<T>(X, observed, factors.U);
            require_codes<T>(samples, factors.U, view(H));
            require_like(samples, view(R));
            require_size(view(error).size, samples.X.rows);
            require_shapes(view(scales).size == warm_up_samples && n_samples >= 0.0,
                           "Statistics must have WARM_UP_SAMPLES noise scales.");
            const FeatureStatistics<T> of_features =
                features_of<T>(features, samples.X.cols, factors.U.rows);
            RejectionStatistics now{variance,  weight,     n_samples,
                                    code_size, kept_share, view(scales)};
            on_target([&]<class Target>() {
                PetrelsKernels<Target, T>::track_with_rejection(
                    samples, factors, now, row_update, rejection,
                    RejectionTrack<T>{view(H), view(R), view(error)}, of_features);
            });
            return std::make_tuple(now.variance, now.weight, now.n_samples, now.code_size,
                                   now.kept_share);
        },
        exact("X"), exact("observed"), exact("rows"), exact("statistics"), "row_update"_a,
        "rejection"_a, exact("track"), exact("features"), Released(),
        "Follow the rows of X in order without outliers; return the first five statistics.\n\n"
        "Rows (U, D, L), the first noise scales, the track (H, R, error), and of the features\n"
        "(limits, counts, last residual, last codes, pair sums) all but the limits are changed.");
}

void bind_settings(nb::module_& m) {
    nb::class_<RowUpdate>(m, "RowUpdate", "Settings of the recursive least squares of rows.")
        .def(
            "__init__",
            [](RowUpdate* self, double forgetting, double ridge, double adaptive_sine,
               bool scales_forgetting) {
                new (self) RowUpdate{forgetting, ridge, adaptive_sine, scales_forgetting};
            },
            nb::kw_only(), "forgetting"_a, "ridge"_a, "adaptive_sine"_a = 0.0,
            "scales_forgetting"_a = false)
        .def_ro("forgetting", &RowUpdate::forgetting)
        .def_ro("ridge", &RowUpdate::ridge)
        .def_ro("adaptive_sine", &RowUpdate::adaptive_sine)
        .def_ro("scales_forgetting", &RowUpdate::scales_forgetting);
    const ADMMSettings defaults;
    nb::class_<ADMMSettings>(m, "ADMMSettings", "Settings of Algorithm 2 of [T].")
        .def(
            "__init__",
            [](ADMMSettings* self, double rho1, double rho2, double huber_ratio, double abs_tol,
               double rel_tol, Index max_iter) {
                new (self) ADMMSettings{rho1, rho2, huber_ratio, abs_tol, rel_tol, max_iter};
            },
            nb::kw_only(), "rho1"_a = defaults.rho1, "rho2"_a = defaults.rho2,
            "huber_ratio"_a = defaults.huber_ratio, "abs_tol"_a = defaults.abs_tol,
            "rel_tol"_a = defaults.rel_tol, "max_iter"_a = defaults.max_iter)
        .def_ro("rho1", &ADMMSettings::rho1)
        .def_ro("rho2", &ADMMSettings::rho2)
        .def_ro("huber_ratio", &ADMMSettings::huber_ratio)
        .def_ro("abs_tol", &ADMMSettings::abs_tol)
        .def_ro("rel_tol", &ADMMSettings::rel_tol)
        .def_ro("max_iter", &ADMMSettings::max_iter);
    nb::class_<RejectionSettings>(m, "RejectionSettings",
                                  "Thresholds of outliers, in noise scales.")
        .def(
            "__init__",
            [](RejectionSettings* self, double huber_threshold, double threshold,
               double truncated_variance, double decay, std::optional<ADMMSettings> admm) {
                new (self) RejectionSettings{huber_threshold,    threshold,
                                             truncated_variance, decay,
                                             admm.has_value(),   admm.value_or(ADMMSettings{})};
            },
            nb::kw_only(), "huber_threshold"_a, "threshold"_a, "truncated_variance"_a = 1.0,
            "decay"_a = 1.0, "admm"_a = nb::none())
        .def_ro("huber_threshold", &RejectionSettings::huber_threshold)
        .def_ro("threshold", &RejectionSettings::threshold)
        .def_ro("truncated_variance", &RejectionSettings::truncated_variance)
        .def_ro("decay", &RejectionSettings::decay);
}

}  // namespace

void bind_petrels(nb::module_& m) {
    m.attr("BLOCK_BYTES") = block_bytes;
    m.attr("WARM_UP_SAMPLES") = warm_up_samples;
    bind_settings(m);
    bind_codes<float>(m);
    bind_codes<double>(m);
    bind_rejection<float>(m);
    bind_rejection<double>(m);
    bind_tracking<float>(m);
    bind_tracking<double>(m);
}

}  // namespace thalweg
