#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/entries.hpp"
#include "kernels/huber_threshold.hpp"
#include "kernels/residual_counts.hpp"
#include "kernels/stuck.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "huber_threshold",
        [](Array1<const T> sizes, Array1<const double> thresholds, double bandwidth,
           double tolerance) {
            require_shapes(thresholds.shape(0) >= 2, "There must be two thresholds or more.");
            return on_target([&]<class Target>() {
                return HuberThresholdKernels<Target, T>::huber_threshold(
                    view(sizes), view(thresholds), {bandwidth, tolerance});
            });
        },
        exact("sizes"), exact("thresholds"), "bandwidth"_a, "tolerance"_a, Released(),
        "Return the largest of evenly spaced thresholds whose variance is nearly the least."
        "\n\nsizes are the sorted moduli of residuals.");
    m.def(
        "count_missing_and_tiny",
        [](Array1<const T> values, T bound) {
            const EntryCounts counts = on_target([&]<class Target>() {
                return EntryKernels<Target, T>::count_missing_and_tiny(view(values), bound);
            });
            return std::pair(counts.missing, counts.tiny);
        },
        exact("values"), "bound"_a, Released(),
        "Count the entries that are NaN, and those with 0 < |x| < bound.");
    m.def(
        "count_residuals",
        [](Array2<const T> X, std::optional<Array2<const bool>> observed, Array2<const T> predicted,
           Array2<const T> H, Array2<const T> R, Array1<const double> prediction_variance,
           const std::tuple<Array1<std::int64_t>, Array2<float>>& bins, float weight) {
            const auto& [first, counts] = bins;
            const auto B = X.shape(0), F = X.shape(1);
            const bool masked = observed.has_value();
            require_shapes((!masked || (observed->shape(0) == B && observed->shape(1) == F)) &&
                               predicted.shape(0) == B && predicted.shape(1) == F &&
                               R.shape(0) == B && R.shape(1) == F && H.shape(0) == B,
                           "Masks, predictions, codes and outliers must be those of the samples.");
            require_shapes(prediction_variance.shape(0) == F && first.shape(0) == F &&
                               counts.shape(0) == F &&
                               counts.shape(1) == static_cast<std::size_t>(n_bins),
                           "There must be a variance and 48 counts of each feature.");
            const FittedSamples<T> samples{
                view(X),         masked ? view(*observed) : Matrix<const bool>(),
                view(predicted), view(H),
                view(R),         view(prediction_variance)};
            on_target([&]<class Target>() {
                ResidualCountKernels<Target, T>::count_residuals(
                    samples, {view(first), view(counts), weight});
            });
        },
        exact("X"), exact("observed").none(), exact("predicted"), exact("H"), exact("R"),
        exact("prediction_variance"), exact("bins"), "weight"_a, Released(),
        "Add the standardised residuals of fitted samples to counts by size, in place.\n\n"
        "bins are the first bin and the counts of each feature.");
    m.def(
        "mask_stuck",
        [](Array2<const T> X, Array2<bool> observed, Array1<T> last, Array1<std::int32_t> run,
           Array1<std::int8_t> variation, Index min_run) {
            const size_t F = X.shape(1);
            require_shapes(observed.shape(0) == X.shape(0) && observed.shape(1) == F &&
                               last.shape(0) == F && run.shape(0) == F && variation.shape(0) == F,
                           "X and observed (n, F), last, run and variation (F,) must fit.");
            on_target([&]<class Target>() {
                StuckKernels<Target, T>::mask_stuck(
                    view(X), view(observed), {view(last), view(run), view(variation)}, min_run);
            });
        },
        exact("X"), exact("observed"), exact("last"), exact("run"), exact("variation"), "min_run"_a,
        Released(),
        "Remove the entries of stuck features from `observed`; all arrays but X are changed.\n\n"
        "A feature is stuck if it has varied before and repeats a value min_run times. variation\n"
        "is -1 for features without a value, 0 for those that never varied, 1 for others, and 2\n"
        "for those that have varied for the first time after min_run repeats.");
}

}  // namespace

void bind_noise(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
