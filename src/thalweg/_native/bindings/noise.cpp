#include <nanobind/stl/pair.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/entries.hpp"
#include "kernels/huber_threshold.hpp"
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
}

}  // namespace

void bind_noise(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace thalweg
