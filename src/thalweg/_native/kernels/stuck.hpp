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
    /// Remove the entries of stuck and of dead features from `observed`, sample by sample.
    ///
    /// A feature is stuck if it has varied before, and now repeats a value at least `min_run`
    /// times. It is dead if it has never had another value than 0, at least as often. If at least
    /// half of the other observed entries of a sample are stuck, repeats are normal for these
    /// data, and they stay. So does a sample of dead features only.
    static void mask_stuck(Matrix<const T> X, Matrix<bool> observed, Repeats<T> repeats,
                           Index min_run);
};

}  // namespace thalweg
