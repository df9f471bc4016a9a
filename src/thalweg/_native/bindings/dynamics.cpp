#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "kernels/factor_chain.hpp"
#include "kernels/local_processes.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

template <class T>
LocalSeries<T> local_series(const Array2<const T>& Y, const Array2<const T>& weights,
                            const Array1<const double>& steps) {
    require_shapes(Y.shape(0) == weights.shape(0) && Y.shape(1) == weights.shape(1) &&
                       Y.shape(1) == steps.shape(0) + 1,
                   "Y (F, N), weights (F, N) and steps (N - 1,) must fit.");
    return {view(Y), view(weights), view(steps)};
}

LocalParameters local_parameters(const Array1<double>& phi, const Array1<double>& variance,
                                 const Array1<double>& noise, const Array1<const double>& initial,
                                 size_t F) {
    require_shapes(
        phi.shape(0) == F && variance.shape(0) == F && noise.shape(0) == F && initial.shape(0) == F,
        "phi, variance, noise and initial must have an entry for each row of Y.");
    return {view(phi), view(variance), view(noise), view(initial)};
}

template <class T>
void bind_local(nb::module_& m) {
    const auto moments = [](bool smoothed) {
        return [smoothed](Array2<const T> Y, Array2<const T> weights, Array1<const double> steps,
                          Array1<double> phi, Array1<double> variance, Array1<double> noise,
                          Array1<const double> initial, Array2<T> mean, Array2<T> spread,
                          Array1<double> log_likelihood) {
            const LocalSeries<T> series = local_series(Y, weights, steps);
            const LocalParameters parameters =
                local_parameters(phi, variance, noise, initial, Y.shape(0));
            require_shapes(mean.shape(0) == Y.shape(0) && mean.shape(1) == Y.shape(1) &&
                               spread.shape(0) == Y.shape(0) && spread.shape(1) == Y.shape(1) &&
                               log_likelihood.shape(0) == Y.shape(0),
                           "mean and spread (F, N) and log_likelihood (F,) must fit Y.");
            on_target([&]<class Target>() {
                const auto call =
                    smoothed ? LocalKernels<Target, T>::smooth : LocalKernels<Target, T>::filter;
                call(series, parameters, view(mean), view(spread), view(log_likelihood));
            });
        };
    };
    m.def("smooth_local", moments(true), exact("Y"), exact("weights"), exact("steps"), exact("phi"),
          exact("variance"), exact("noise"), exact("initial"), exact("mean"), exact("spread"),
          exact("log_likelihood"), Released(),
          "Set mean and variance of a process in each row of Y given the row.");
    m.def("filter_local", moments(false), exact("Y"), exact("weights"), exact("steps"),
          exact("phi"), exact("variance"), exact("noise"), exact("initial"), exact("mean"),
          exact("spread"), exact("log_likelihood"), Released(),
          "Set mean and variance of a process in each row of Y given the row up to an entry.");
    m.def(
        "learn_local",
        [](Array2<const T> Y, Array2<const T> weights, Array1<const double> steps,
           Array1<double> phi, Array1<double> variance, Array1<double> noise,
           Array1<const double> initial, double least_noise, Array2<double> log_likelihood) {
            const LocalSeries<T> series = local_series(Y, weights, steps);
            const LocalParameters parameters =
                local_parameters(phi, variance, noise, initial, Y.shape(0));
            require_shapes(log_likelihood.shape(0) == Y.shape(0),
                           "log_likelihood must have a row for each row of Y.");
            on_target([&]<class Target>() {
                LocalKernels<Target, T>::learn(series, parameters, least_noise,
                                               view(log_likelihood));
            });
        },
        exact("Y"), exact("weights"), exact("steps"), exact("phi"), exact("variance"),
        exact("noise"), exact("initial"), "least_noise"_a, exact("log_likelihood"), Released(),
        "Improve phi, variance and noise of the process in each row of Y by EM.");
}

CodeMoments code_moments(const Array2<double>& mean, const Array3<double>& covariance,
                         const Array2<double>& lagged) {
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
        [](Array2<const T> Y, Array2<const T> weights, Array1<const double> steps,
           Array2<const double> loadings, Array1<const double> noise, Array1<const double> phi,
           bool smoothed, Array2<double> mean, Array3<double> covariance, Array2<double> lagged) {
            const size_t N = Y.shape(0), F = Y.shape(1), K = loadings.shape(1);
            require_shapes(weights.shape(0) == N && weights.shape(1) == F &&
                               loadings.shape(0) == F && noise.shape(0) == F && phi.shape(0) == K &&
                               steps.shape(0) + 1 == N && mean.shape(0) == N && mean.shape(1) == K,
                           "Y and weights (N, F), loadings (F, K) and mean (N, K) must fit.");
            const CodeMoments moments = code_moments(mean, covariance, lagged);
            return on_target([&]<class Target>() {
                return FactorKernels<Target, T>::codes({view(Y), view(weights), view(steps)},
                                                       {view(loadings), view(noise), view(phi)},
                                                       smoothed, moments);
            });
        },
        exact("Y"), exact("weights"), exact("steps"), exact("loadings"), exact("noise"),
        exact("phi"), "smoothed"_a, exact("mean"), exact("covariance"), exact("lagged"), Released(),
        "Set the moments of autoregressive codes; return the log-likelihood.");
}

}  // namespace

void bind_dynamics(nb::module_& m) {
    bind_local<float>(m);
    bind_local<double>(m);
    bind_factors<float>(m);
    bind_factors<double>(m);
    m.def(
        "learn_phi",
        [](Array2<double> mean, Array3<double> covariance, Array2<double> lagged,
           Array1<const double> steps, Array1<double> phi) {
            require_shapes(steps.shape(0) == lagged.shape(0) && phi.shape(0) == mean.shape(1),
                           "steps (N - 1,) and phi (K,) must fit mean (N, K).");
            const CodeMoments moments = code_moments(mean, covariance, lagged);
            on_target([&]<class Target>() {
                FactorKernels<Target, double>::learn_phi(moments, view(steps), view(phi));
            });
        },
        exact("mean"), exact("covariance"), exact("lagged"), exact("steps"), exact("phi"),
        Released(), "Set each phi to the maximum of the expected log-likelihood of the codes.");
}

}  // namespace thalweg
