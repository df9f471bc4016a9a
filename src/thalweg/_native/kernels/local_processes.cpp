#include "kernels/local_processes.hpp"

#include <numbers>

#include "kernels/transitions.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// One series with its parameters.
template <class T>
struct OneSeries {
    Vector<const T> y, weights;
    Vector<const double> steps;
    double phi, variance, noise, initial;

    double first_variance() const { return phi < 1.0 ? variance : initial; }
};

template <class T>
OneSeries<T> series_of(const LocalSeries<T>& all, const LocalParameters& p, Index f) {
    return {all.Y[f], all.weights[f], all.steps, p.phi[f], p.variance[f], p.noise[f], p.initial[f]};
}

/// Filter: set the moments of l_t given y_0, ..., y_t. Return the log-likelihood.
template <class T>
double filter_series(const OneSeries<T>& s, Vector<double> mean, Vector<double> variance) {
    const double log_two_pi = std::log(2.0 * std::numbers::pi);
    Transitions at(s.phi);
    double m = 0.0, P = s.first_variance(), twice = 0.0;
    for (Index t = 0; t < s.y.size; ++t) {
        if (t > 0) {
            const Transition& move = at(s.steps[t - 1]);
            m *= move.a;
            P = move.a * move.a * P + move.noise * s.variance;
        }
        const double weight = static_cast<double>(s.weights[t]);
        if (weight > 0.0) {
            const double noise = s.noise / weight, total = P + noise;
            const double innovation = static_cast<double>(s.y[t]) - m;
            m += P / total * innovation;
            P *= noise / total;
            twice -= log_two_pi + std::log(total) + innovation * innovation / total;
        }
        mean[t] = m;
        variance[t] = P;
    }
    return 0.5 * twice;
}

// Innovations whose variances are multiplied before a logarithm is taken: of standardised data they
// neither overflow nor vanish.
constexpr Index terms_per_logarithm = 8;

/// Likelihood of a series as a function of phi and of the ratio noise / variance, where the
/// variance is the best one.
template <class T>
class ProfiledLikelihood {
   public:
    explicit ProfiledLikelihood(const OneSeries<T>& s) : s_(s) {}

    /// Return -2 log-likelihood, without constants. `variance_` is the best variance.
    double cost(double phi, double ratio) {
        Transitions at(phi);
        double m = 0.0, P = 1.0, squares = 0.0, logarithms = 0.0, product = 1.0;
        Index count = 0;
        for (Index t = 0; t < s_.y.size; ++t) {
            if (t > 0) {
                const Transition& move = at(s_.steps[t - 1]);
                m *= move.a;
                P = move.a * move.a * P + move.noise;
            }
            const double weight = static_cast<double>(s_.weights[t]);
            if (!(weight > 0.0)) continue;
            const double noise = ratio / weight, share = 1.0 / (P + noise);
            const double innovation = static_cast<double>(s_.y[t]) - m;
            squares += innovation * innovation * share;
            product *= share;
            m += P * share * innovation;
            P *= noise * share;
            if (++count % terms_per_logarithm == 0) {
                logarithms -= std::log(product);
                product = 1.0;
            }
        }
        const double n = static_cast<double>(count);
        variance_ = squares / n;
        return n * std::log(variance_) + logarithms - std::log(product);
    }
    double variance() const { return variance_; }

   private:
    const OneSeries<T>& s_;
    double variance_ = 0.0;
};

/// Smooth the moments of a filter in place. `lagged`, if not empty, is set to cov(l_t, l_{t+1}).
template <class T>
void smooth_series(const OneSeries<T>& s, Vector<double> mean, Vector<double> variance,
                   Vector<double> lagged) {
    Transitions at(s.phi);
    for (Index t = s.y.size - 2; t >= 0; --t) {
        const Transition& move = at(s.steps[t]);
        const double P = variance[t], Q = move.noise * s.variance;
        const double predicted = move.a * move.a * P + Q;
        const double gain = predicted > 0.0 ? move.a * P / predicted : 0.0;
        mean[t] += gain * (mean[t + 1] - move.a * mean[t]);
        const double kept = 1.0 - gain * move.a;
        variance[t] = kept * kept * P + gain * gain * (Q + variance[t + 1]);
        if (lagged.size > 0) lagged[t] = gain * variance[t + 1];
    }
}

template <class T>
void store(Vector<const double> x, Vector<T> out) {
    for (Index t = 0; t < x.size; ++t) out[t] = static_cast<T>(x[t]);
}

// Reach of the search for logarithms of parameters in the first iteration, halved in each, and its
// steps.
constexpr double first_reach = 3.0;
constexpr int climb_steps = 6;

/// The moments of one series, and the M-step of its parameters.
template <class T>
class Learner {
   public:
    explicit Learner(Index n) : mean_(n), variance_(n), lagged_(n) {}

    /// Take one step of EM; return the log-likelihood before it.
    double step(OneSeries<T>& s, double least_noise) {
        const Index n = s.y.size;
        const double log_likelihood = filter_series(s, mean_, variance_);
        smooth_series(s, mean_, variance_, lagged_.vector().first(n - 1));
        update_noise(s, least_noise);
        for (Index t = 0; t < n; ++t) {
            if (t < n - 1) lagged_[t] += mean_[t] * mean_[t + 1];
            variance_[t] += mean_[t] * mean_[t];
        }
        if (n > 1) update_process(s);
        if (s.phi < 1.0 && s.phi > 0.0 && s.variance > 0.0) climb(s, least_noise);
        reach_ *= 0.5;
        return log_likelihood;
    }

   private:
    /// Improve the ratio noise / variance, then phi, by the likelihood itself: EM alone hardly
    /// moves a small noise. Steps that do not improve it are not taken.
    void climb(OneSeries<T>& s, double least_noise) const {
        ProfiledLikelihood<T> likelihood(s);
        double log_ratio = std::log(s.noise / s.variance), log_rate = std::log(-std::log(s.phi));
        const auto phi_at = [](double x) { return std::exp(-std::exp(x)); };
        const double before = likelihood.cost(s.phi, s.noise / s.variance);
        log_ratio =
            lowest(log_ratio, [&](double x) { return likelihood.cost(s.phi, std::exp(x)); });
        log_rate = lowest(
            log_rate, [&](double x) { return likelihood.cost(phi_at(x), std::exp(log_ratio)); });
        const double phi = phi_at(log_rate), ratio = std::exp(log_ratio);
        if (!(phi < 1.0) || !(likelihood.cost(phi, ratio) < before)) return;
        const double variance = likelihood.variance();
        if (!(variance * ratio > least_noise)) return;
        s.phi = phi;
        s.variance = variance;
        s.noise = variance * ratio;
    }

    /// Return the x within reach of `centre` with the least cost, by golden-section search.
    template <class Cost>
    double lowest(double centre, Cost&& cost) const {
        return golden_section(centre - reach_, centre + reach_, climb_steps, cost).first;
    }

    /// Set the noise to the weighted mean of E (y_t - l_t)^2.
    void update_noise(OneSeries<T>& s, double least_noise) const {
        double sum = 0.0, count = 0.0;
        for (Index t = 0; t < s.y.size; ++t) {
            const double weight = static_cast<double>(s.weights[t]);
            if (!(weight > 0.0)) continue;
            const double residual = static_cast<double>(s.y[t]) - mean_[t];
            sum += weight * (residual * residual + variance_[t]);
            count += 1.0;
        }
        if (count > 0.0) s.noise = std::max(least_noise, sum / count);
    }

    /// Set phi and the variance to the maximum of the expected log-likelihood; a random walk stays
    /// one.
    void update_process(OneSeries<T>& s) const {
        const Moments moments{variance_.vector(), lagged_.vector().first(s.y.size - 1)};
        const double n = static_cast<double>(s.y.size);
        with_sums(moments, s.steps, [&](const auto& sums) {
            if (s.phi >= 1.0) {
                s.variance = (sums(1.0).squares - moments.second[0]) / (n - 1.0);
                return;
            }
            if (!(s.variance > 0.0)) return;
            const auto cost = [&](double phi) {
                const ProcessSums found = sums(phi);
                return n * std::log(found.squares / n) + found.log_determinant;
            };
            s.phi = best_phi(mean_of(s.steps), s.phi, cost);
            s.variance = sums(s.phi).squares / n;
        });
    }

    Buffer<double> mean_, variance_, lagged_;
    double reach_ = first_reach;
};

}  // namespace

template <class Target, class T>
void LocalKernels<Target, T>::smooth(const LocalSeries<T>& series,
                                     const LocalParameters& parameters, Matrix<T> mean,
                                     Matrix<T> variance, Vector<double> log_likelihood) {
    parallel_for(series.Y.rows, [&](Index f) {
        interruption_point();
        const OneSeries<T> s = series_of(series, parameters, f);
        const Buffer<double> m(s.y.size), P(s.y.size);
        log_likelihood[f] = filter_series(s, m.vector(), P.vector());
        smooth_series(s, m.vector(), P.vector(), {});
        store<T>(m.vector(), mean[f]);
        store<T>(P.vector(), variance[f]);
    });
}

template <class Target, class T>
void LocalKernels<Target, T>::filter(const LocalSeries<T>& series,
                                     const LocalParameters& parameters, Matrix<T> mean,
                                     Matrix<T> variance, Vector<double> log_likelihood) {
    parallel_for(series.Y.rows, [&](Index f) {
        interruption_point();
        const OneSeries<T> s = series_of(series, parameters, f);
        const Buffer<double> m(s.y.size), P(s.y.size);
        log_likelihood[f] = filter_series(s, m.vector(), P.vector());
        store<T>(m.vector(), mean[f]);
        store<T>(P.vector(), variance[f]);
    });
}

template <class Target, class T>
void LocalKernels<Target, T>::learn(const LocalSeries<T>& series, const LocalParameters& parameters,
                                    double least_noise, Matrix<double> log_likelihood) {
    parallel_for(series.Y.rows, [&](Index f) {
        OneSeries<T> s = series_of(series, parameters, f);
        Learner<T> learner(s.y.size);
        for (Index i = 0; i < log_likelihood.cols; ++i) {
            interruption_point();
            log_likelihood(f, i) = learner.step(s, least_noise);
        }
        parameters.phi[f] = s.phi;
        parameters.variance[f] = s.variance;
        parameters.noise[f] = s.noise;
    });
}

template struct LocalKernels<Target, float>;
template struct LocalKernels<Target, double>;

}  // namespace thalweg
