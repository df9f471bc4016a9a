// Rotations of an orthonormal basis towards a direction.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/basis_products.hpp"

namespace thalweg {
namespace {

/// The largest rotation: beyond a quarter turn, a basis returns to where it was.
inline constexpr double largest_angle = 3.14159265358979323846 / 3.0;
/// Error of the basis, relative to the root of the precision, from which on it is made orthonormal.
inline constexpr double largest_error = 0.25;
/// A running mean over the stream is that of at most this number of samples.
inline constexpr double mean_samples = 100.0;

/// Return the mean after one more sample, the last of `count`.
inline double running_mean(double mean, double count, double x) {
    return mean + (x - mean) / (mean_samples < count ? mean_samples : count);
}

/// Return |x|^2, a part of the entries in the type of the data.
template <class T>
double squared_norm(Vector<const T> x) {
    double square = 0.0;
    for_each_part(x.size, [&](Index begin, Index end) {
        const Vector<const T> part = x.slice(begin, end);
        square += static_cast<double>(dot<T>(part, part));
    });
    return square;
}

/// Make the rows orthonormal, each to those before it, twice because of rounding.
template <class T>
void orthonormalise(Matrix<T> U) {
    for (Index k = 0; k < U.rows; ++k) {
        for (int i = 0; i < 2; ++i)
            for (Index j = 0; j < k; ++j) add<T>(-dot<T>(U[k], U[j]), U[j], U[k]);
        const Vector<T> u = U[k];
        const T norm = std::sqrt(dot<T>(u, u));
        for_each_pack<T>(u.size, [&](auto at) { at.store(u, at(u) / norm); });
    }
}

/// Rotate U'h by an angle towards a direction of norm one that is orthogonal to all rows of U.
///
/// p is U'h, and is overwritten. Its norm shows the rounding errors of the basis, which is made
/// orthonormal once they are near the root of the precision.
template <class T>
void rotate(Matrix<T> U, Vector<const double> h, Vector<const T> direction, double angle,
            Vector<T> p) {
    const double norm = std::sqrt(dot<double>(h, h));
    const T back = static_cast<T>((std::cos(angle) - 1.0) / norm);
    const T forth = static_cast<T>(std::sin(angle));
    const double error = std::fabs(squared_norm<T>(p) / (norm * norm) - 1.0);
    for_each_pack<T>(p.size, [&](auto at) { at.store(p, back * at(p) + forth * at(direction)); });
    for (Index k = 0; k < U.rows; ++k) {
        const T factor = static_cast<T>(h[k] / norm);
        const Vector<T> u = U[k];
        for_each_pack<T>(u.size, [&](auto at) { at.store(u, at(u) + factor * at(p)); });
    }
    const auto eps = static_cast<double>(std::numeric_limits<T>::epsilon());
    if (error > largest_error * std::sqrt(eps)) orthonormalise(U);
}

}  // namespace
}  // namespace thalweg
