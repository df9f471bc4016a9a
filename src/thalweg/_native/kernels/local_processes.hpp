// A scalar process for each feature, observed with noise: Kalman filter, smoother and EM.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// y_t = l_t + e_t, where e_t has variance noise / weight_t; an entry of weight 0 is missing.
///
/// l_{t+1} = a l_t + w_t with a = phi^step and w_t of variance `variance` (1 - a^2): stationary.
/// With phi = 1 it is a random walk, whose variance grows by `variance` per unit of time from
/// `initial`.
template <class T>
struct LocalSeries {
    Matrix<const T> Y;           // a row for each feature; anything at weight 0
    Matrix<const T> weights;     // of Y
    Vector<const double> steps;  // between samples
};

struct LocalParameters {
    Vector<double> phi;
    Vector<double> variance;
    Vector<double> noise;
    Vector<const double> initial;
};

template <class Target, class T>
struct LocalKernels {
    /// Set mean and variance of each l_t given all of its series, and the log-likelihoods.
    static void smooth(const LocalSeries<T>& series, const LocalParameters& parameters,
                       Matrix<T> mean, Matrix<T> variance, Vector<double> log_likelihood);

    /// The same given the series up to t.
    static void filter(const LocalSeries<T>& series, const LocalParameters& parameters,
                       Matrix<T> mean, Matrix<T> variance, Vector<double> log_likelihood);

    /// Improve phi, variance and noise by EM, as often as log_likelihood has columns; each is that
    /// before the step. Noise is at least `least_noise`.
    static void learn(const LocalSeries<T>& series, const LocalParameters& parameters,
                      double least_noise, Matrix<double> log_likelihood);
};

}  // namespace thalweg
