// Rotations of a basis along geodesics of the Grassmannian, by least squares residuals (GROUSE).
#pragma once

#include <cstdint>

#include "support/array.hpp"

namespace thalweg {

/// How the angle of a rotation is found.
enum class StepRule : std::uint8_t { greedy, constant, diminishing, adaptive, proximal };

/// Rule and factor of the angles.
struct GeodesicStep {
    StepRule rule;
    double rate;
};

template <class Target, class T>
struct GeodesicKernels {
    /// Rotate the basis after each row v of V; return the number of samples so far.
    ///
    /// With h = argmin |v - U'h|^2 over the observed entries and the residual r, 0 at missing
    /// ones, U'h is rotated towards r: by atan(|r| / |h|) with greedy steps, else by
    /// rate |r| |h| / (|r|^2 + |h|^2), times K / (K + count) if steps diminish. U has the basis
    /// vectors as rows. H and `error` get the codes and the median residuals, with the basis
    /// before each sample.
    static double track_grouse(Matrix<T> U, Matrix<const T> V, Matrix<const bool> observed,
                               const GeodesicStep& step, double count, Matrix<T> H,
                               Vector<double> error);
};

}  // namespace thalweg
