#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/factor_chain.hpp"
#include "kernels/local_processes.hpp"
#include "kernels/row_filter.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Samples, their weights, and the steps between them.
template <class T>
using Series = std::tuple<Array2<const T>, Array2<const T>, Array1<const double>>;

template <class T>
LocalSeries<T> local_series(const Series<T>& series) {
    const auto& [Y, weights, steps] = series;
    require_shapes(Y.shape(0) == weights.shape(0) && Y.shape(1) == weights.shape(1) &&
                       Y.shape(1) == steps.shape(0) + 1,
                   "Y (F, N), weights (F, N) and steps (N - 1,) must fit.");
    return {view(Y), view(weights), view(steps)};
}

/// phi, variance, noise and initial variance of each process.
using Parameters = std::tuple<Array1<double>, Array1<double>, Array1<double>, Array1<const double>>;

LocalParameters local_parameters(const Parameters& parameters, Index F) {
    const auto& [phi, variance, noise, initial] = parameters;
    const size_t n = static_cast<size_t>(F);
    require_shapes(
        phi.shape(0) == n && variance.shape(0) == n && noise.shape(0) == n && initial.shape(0) == n,
        "phi, variance, noise and initial must have an entry for each row of Y.");
    return {view(phi), view(variance), view(noise), view(initial)};
}

/// Mean and variance of each entry, and the log-likelihood of each row.
template <class T>
using Found = std::tuple<Array2<T>, Array2<T>, Array1<double>>;

template <class T>
void bind_local(nb::module_& m) {
    const auto moments = [](bool smoothed) {
        return [smoothed](const Series<T>& series, const Parameters& parameters,
                          const Found<T>& found) {
            const LocalSeries<T> rows = local_series<T>(series);
            const LocalParameters own = local_parameters(parameters, rows.Y.rows);
            const auto& [mean, spread, log_likelihood] = found;
            const size_t F = static_cast<size_t>(rows.Y.rows);
            const size_t N = static_cast<size_t>(rows.Y.cols);
            require_shapes(mean.shape(0) == F && mean.shape(1) == N && spread.shape(0) == F &&
                               spread.shape(1) == N && log_likelihood.shape(0) == F,
                           "mean and spread (F, N) and log_likelihood (F,) must fit Y.");
            on_target([&]<class Target>() {
                const auto call =
                    smoothed ? LocalKernels<Target, T>::smooth : LocalKernels<Target, T>::filter;
                call(rows, own, view(mean), view(spread), view(log_likelihood));
            });
        };
    };
    m.def("smooth_local", moments(true), exact("series"), exact("parameters"), exact("found"),
          Released(),
          "Set mean and variance of a process in each row of Y given the row.\n\n"
          "series are Y, weights and steps; parameters are phi, variance, noise and initial.");
    m.def("filter_local", moments(false), exact("series"), exact("parameters"), exact("found"),
          Released(),
          "Set mean and variance of a process in each row of Y given the row up to an entry.");
    m.def(
        "learn_local",
        [](const Series<T>& series, const Parameters& parameters, double least_noise,
           Array2<double> log_likelihood) {
            const LocalSeries<T> rows = local_series<T>(series);
            const LocalParameters own = local_parameters(parameters, rows.Y.rows);
            require_shapes(log_likelihood.shape(0) == static_cast<size_t>(rows.Y.rows),
                           "log_likelihood must have a row for each row of Y.");
            on_target([&]<class Target>() {
                LocalKernels<Target, T>::learn(rows, own, least_noise, view(log_likelihood));
            });
        },
        exact("series"), exact("parameters"), "least_noise"_a, exact("log_likelihood"), Released(),
        "Improve phi, variance and noise of the process in each row of Y by EM.");
}

/// Loadings, noise and phi of the codes.
using Factors = std::tuple<Array2<const double>, Array1<const double>, Array1<const double>>;
/// Means, covariances and lagged products of codes.
using Moments = std::tuple<Array2<double>, Array3<double>, Array2<double>>;

CodeMoments code_moments(const Moments& moments) {
    const auto& [mean, covariance, lagged] = moments;
    const size_t N = mean.shape(0), K = mean.shape(1);
    require_shapes(N > 0 && covariance.shape(0) == N && covariance.shape(1) == K &&
                       covariance.shape(2) == K && lagged.shape(0) == N - 1 && lagged.shape(1) == K,
                   "mean (N, K), covariance (N, K, K) and lagged (N - 1, K) must fit.");
    return {view(mean), view(covariance), view(lagged)};
}

template <class T>
void bind_factors(nb::module_& m) {
    m.def(
        "factor_codes",
        [](const Series<T>& series, const Factors& parameters, bool smoothed,
           const Moments& found) {
            const auto& [Y, weights, steps] = series;
            const auto& [loadings, noise, phi] = parameters;
            const auto& mean = std::get<0>(found);
            const size_t N = Y.shape(0), F = Y.shape(1), K = loadings.shape(1);
            require_shapes(weights.shape(0) == N && weights.shape(1) == F &&
                               loadings.shape(0) == F && noise.shape(0) == F && phi.shape(0) == K &&
                               steps.shape(0) + 1 == N && mean.shape(0) == N && mean.shape(1) == K,
                           "Y and weights (N, F), loadings (F, K) and mean (N, K) must fit.");
            const FactorSeries<T> samples{view(Y), view(weights), view(steps)};
            const FactorParameters own{view(loadings), view(noise), view(phi)};
            const CodeMoments moments = code_moments(found);
            return on_target([&]<class Target>() {
                return FactorKernels<Target, T>::codes(samples, own, smoothed, moments);
            });
        },
        exact("series"), exact("parameters"), "smoothed"_a, exact("found"), Released(),
        "Set the moments of autoregressive codes; return the log-likelihood.\n\n"
        "series are Y, weights and steps; parameters are loadings, noise and phi; found are mean, "
        "covariance and lagged.");
}

/// Mean and covariance of the codes, means and variances of the deviations.
using LastRow = std::tuple<Array1<double>, Array2<double>, Array1<double>, Array1<double>>;

void bind_filter(nb::module_& m) {
    m.def(
        "filter_rows",
        [](const Series<double>& series, const Factors& factors, const Parameters& parameters,
           double threshold, const LastRow& last,
           const std::tuple<Array2<double>, Array2<double>, Array2<double>>& found) {
            const auto& [Y, weights, steps] = series;
            const auto& [loadings, noise, phi] = factors;
            const auto& [code_mean, covariance, mean, variance] = last;
            const auto& [low_rank, deviation, spread] = found;
            const size_t N = Y.shape(0), F = Y.shape(1), K = loadings.shape(1);
            const auto is_table = [&](const auto& x) { return x.shape(0) == N && x.shape(1) == F; };
            require_shapes(is_table(weights) && steps.shape(0) == N && is_table(low_rank) &&
                               is_table(deviation) && is_table(spread),
                           "weights and results must have the shape of Y (N, F), and steps (N,).");
            require_shapes(loadings.shape(0) == F && noise.shape(0) == F && phi.shape(0) == K &&
                               code_mean.shape(0) == K && covariance.shape(0) == K &&
                               covariance.shape(1) == K && mean.shape(0) == F &&
                               variance.shape(0) == F,
                           "Parameters and moments must fit Y (N, F) and loadings (F, K).");
            const LocalParameters own = local_parameters(parameters, static_cast<Index>(F));
            on_target([&]<class Target>() {
                RowFilter<Target>::filter(
                    {view(Y), view(weights), view(steps)}, {view(loadings), view(noise), view(phi)},
                    own, threshold, {view(code_mean), view(covariance), view(mean), view(variance)},
                    {view(low_rank), view(deviation), view(spread)});
            });
        },
        exact("series"), exact("factors"), exact("parameters"), "threshold"_a, exact("last"),
        exact("found"), Released(),
        "Filter rows from the moments of the row before, which become those of the last row.\n\n"
        "series are Y, weights and steps; factors are loadings, noise and phi; parameters those of "
        "the deviations; found are low-rank part, deviations, and variances of the sum.");
}

}  // namespace

void bind_dynamics(nb::module_& m) {
    bind_local<float>(m);
    bind_local<double>(m);
    bind_factors<float>(m);
    bind_factors<double>(m);
    bind_filter(m);
    m.def(
        "learn_phi",
        [](const Moments& found, Array1<const double> steps, Array1<double> phi) {
            require_shapes(steps.shape(0) == std::get<2>(found).shape(0) &&
                               phi.shape(0) == std::get<0>(found).shape(1),
                           "steps (N - 1,) and phi (K,) must fit mean (N, K).");
            const CodeMoments moments = code_moments(found);
            on_target([&]<class Target>() {
                FactorKernels<Target, double>::learn_phi(moments, view(steps), view(phi));
            });
        },
        exact("moments"), exact("steps"), exact("phi"), Released(),
        "Set each phi to the maximum of the expected log-likelihood of the codes.");
}

}  // namespace thalweg
