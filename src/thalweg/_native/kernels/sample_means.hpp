// Running means over samples, to which a dictionary is fitted.
#pragma once

#include "support/array.hpp"

namespace thalweg {

template <class Target, class T>
struct SampleMeanKernels {
    /// Samples v with outliers r and codes h, in rows.
    struct Samples {
        Matrix<const T> V;  // (n, F)
        Matrix<const T> R;  // (n, F), or without rows if there are no outliers
        Matrix<const T> H;  // (n, K)
    };
    /// Means of h h' and of h (v - r)'.
    template <class S>
    struct Means {
        Matrix<S> A;  // (K, K)
        Matrix<S> B;  // (K, F)
    };

    /// Set the means to share times those of the samples plus 1 - share times those before; return
    /// the mean of |v - r|^2 over the samples.
    static double add_samples(const Samples& samples, double share, Means<const T> before,
                              Means<T> after);
};

}  // namespace thalweg
