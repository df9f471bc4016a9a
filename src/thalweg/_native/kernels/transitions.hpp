// Transitions of a first-order autoregression with unit variance, over steps of any length.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/array.hpp"

namespace thalweg {
namespace {

/// Bounds of the decay rate -log(phi), per mean step: a process without memory, and one that
/// decays less than any table can tell.
inline constexpr double largest_rate = 8.0, smallest_rate = 1e-6;
/// Steps of golden-section search: the logarithm of the rate is found within 1e-4.
inline constexpr int search_steps = 26;

/// l' = a l + w over a step, where w has variance `noise` times that of the process.
struct Transition {
    double a = 0.0;
    double noise = 1.0;
};

/// Return the transition over `step`: phi^step for a stationary process. A random walk has phi = 1,
/// and noise in proportion to the step.
inline Transition transition(double phi, double step) {
    if (phi >= 1.0) return {1.0, step};
    if (phi <= 0.0) return {0.0, 1.0};
    const double exponent = step * std::log(phi);
    return {std::exp(exponent), -std::expm1(2.0 * exponent)};
}

/// The transitions of one process; that of the step before is kept, since most steps are equal.
class Transitions {
   public:
    explicit Transitions(double phi) : phi_(phi) {}

    const Transition& operator()(double step) {
        if (step != step_) {
            step_ = step;
            last_ = transition(phi_, step);
        }
        return last_;
    }

   private:
    double phi_;
    double step_ = -1.0;
    Transition last_;
};

/// Smoothed second moments of one process: E l_t^2, and E l_t l_{t+1}.
struct Moments {
    Vector<const double> second;
    Vector<const double> lagged;
};

/// What the likelihood of a process needs: the sum of squares in units of its variance, and the
/// logarithm of the determinant of its correlations.
struct ProcessSums {
    double squares = 0.0;
    double log_determinant = 0.0;
};

inline ProcessSums process_sums(const Moments& moments, Vector<const double> steps, double phi) {
    ProcessSums sums{moments.second[0], 0.0};
    Transitions at(phi);
    for (Index t = 0; t < steps.size; ++t) {
        const Transition& move = at(steps[t]);
        const double square = moments.second[t + 1] - 2.0 * move.a * moments.lagged[t] +
                              move.a * move.a * moments.second[t];
        sums.squares += square / move.noise;
        sums.log_determinant += std::log(move.noise);
    }
    return sums;
}

/// The same with all steps equal, from the sums over all steps.
class EqualSteps {
   public:
    EqualSteps(const Moments& moments, double step)
        : first_(moments.second[0]), step_(step), n_(static_cast<double>(moments.lagged.size)) {
        for (Index t = 0; t < moments.lagged.size; ++t) {
            before_ += moments.second[t];
            after_ += moments.second[t + 1];
            lagged_ += moments.lagged[t];
        }
    }
    ProcessSums operator()(double phi) const {
        const Transition move = transition(phi, step_);
        const double square = after_ - 2.0 * move.a * lagged_ + move.a * move.a * before_;
        return {first_ + square / move.noise, n_ * std::log(move.noise)};
    }

   private:
    double first_, step_, n_;
    double before_ = 0.0, after_ = 0.0, lagged_ = 0.0;
};

/// Return whether all steps are equal.
inline bool equally_spaced(Vector<const double> steps) {
    for (Index t = 1; t < steps.size; ++t)
        if (steps[t] != steps[0]) return false;
    return true;
}

/// Return the x in [low, high] with the least cost(x), and the cost, by golden-section search.
template <class Cost>
std::pair<double, double> golden_section(double low, double high, int steps, Cost&& cost) {
    const double ratio = 0.6180339887498949;
    double left = high - ratio * (high - low), right = low + ratio * (high - low);
    double left_cost = cost(left), right_cost = cost(right);
    for (int i = 0; i < steps; ++i) {
        if (left_cost <= right_cost) {
            high = right;
            right = left;
            right_cost = left_cost;
            left = high - ratio * (high - low);
            left_cost = cost(left);
        } else {
            low = left;
            left = right;
            left_cost = right_cost;
            right = low + ratio * (high - low);
            right_cost = cost(right);
        }
    }
    return left_cost <= right_cost ? std::pair(left, left_cost) : std::pair(right, right_cost);
}

/// Return the phi with the least cost(phi), or `current` if none is better.
template <class Cost>
double best_phi(double mean_step, double current, Cost&& cost) {
    const auto phi_at = [](double log_rate) { return std::exp(-std::exp(log_rate)); };
    const double low = std::log(smallest_rate / mean_step);
    const double high = std::log(largest_rate / mean_step);
    const auto [log_rate, least] =
        golden_section(low, high, search_steps, [&](double x) { return cost(phi_at(x)); });
    return least < cost(current) ? phi_at(log_rate) : current;
}

/// Call f with the sums of a process as a function of phi.
template <class F>
auto with_sums(const Moments& moments, Vector<const double> steps, F&& f) {
    if (equally_spaced(steps)) return f(EqualSteps(moments, steps[0]));
    return f([&](double phi) { return process_sums(moments, steps, phi); });
}

/// Return the mean of the steps.
inline double mean_of(Vector<const double> steps) {
    double sum = 0.0;
    for (Index t = 0; t < steps.size; ++t) sum += steps[t];
    return sum / static_cast<double>(steps.size);
}

}  // namespace
}  // namespace thalweg
