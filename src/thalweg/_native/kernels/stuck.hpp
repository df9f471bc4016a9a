// Features that repeat a value, such as stuck sensors.
#pragma once

#include <cstdint>

#include "support/array.hpp"

namespace thalweg {

/// Whether a feature has ever changed its value.
enum Variation : std::int8_t {
    unseen = -1,  // no value yet
    constant = 0,
    varied = 1,
    released = 2,  // for the first time, after it had seemed constant
};

/// What is known of repeated values, one entry for each feature.
template <class T>
struct Repeats {
    Vector<T> last;                 // latest observed value
    Vector<std::int32_t> run;       // number of its repeats
    Vector<std::int8_t> variation;  // Variation
};

template <class Target, class T>
struct StuckKernels {
    /// Remove the entries of stuck features from `observed`, sample by sample.
    ///
    /// A feature is stuck if it has varied before, and now repeats a value at least `min_run`
    /// times. If at least half of the observed entries of a sample are, repeats are normal for
    /// these data, and the sample stays as it is.
    static void mask_stuck(Matrix<const T> X, Matrix<bool> observed, Repeats<T> repeats,
                           Index min_run);
};

}  // namespace thalweg
