// Outliers in closed form: the soft threshold with bounds, [O] (16) and (17).
#pragma once

#include "kernels/l1_penalty.hpp"
#include "support/array.hpp"
#include "support/simd.hpp"

namespace thalweg {

namespace {

/// |e|^2/2 and |r|_1 of a residual that is split into noise e and outliers r.
template <class T>
struct SplitSums {
    T half_square;
    T modulus;
};

/// Split residuals into outliers r and noise e = residual - r.
///
/// r = argmin_r |residual - r|^2/2 + weight |r|_1 subject to lower <= r <= upper. residual(at) may
/// read the place of e.
template <class T, class F>
THALWEG_INLINE SplitSums<T> split_l1(F residual_at, T weight, const L1Penalty& penalty,
                                     Vector<T> noises, Vector<T> outliers) {
    const T upper = static_cast<T>(penalty.upper), lower = static_cast<T>(penalty.lower);
    Sum<T> squares, moduli;
    for_each<T>(noises.size, [&](auto at) THALWEG_INLINE_BODY {
        const auto residual = residual_at(at), zero = at.constant(T(0));
        // The second argument is returned if it is NaN.
        const auto above = smaller(at.constant(upper), larger(zero, residual - weight));
        const auto below = larger(at.constant(lower), smaller(zero, residual + weight));
        const auto outlier = above + below, noise = residual - outlier;
        at.store(outliers, outlier);
        at.store(noises, noise);
        squares.add(noise * noise);
        moduli.add(modulus(outlier));
    });
    return {T(0.5) * squares.value(), moduli.value()};
}

/// Return the mean of |v - z| over the entries where they differ; at missing entries they do not.
template <class T>
T mean_residual(Vector<const T> v, Vector<const T> z) {
    Sum<T> moduli, count;
    for_each<T>(z.size, [&](auto at) THALWEG_INLINE_BODY {
        const auto residual = modulus(at(v) - at(z));
        moduli.add(residual);
        count.add(above(residual, at.constant(T(0))));
    });
    return moduli.value() / larger(count.value(), T(1));
}

}  // namespace
}  // namespace thalweg
