// Counts of special entries.
#pragma once

#include "support/array.hpp"

namespace thalweg {

struct EntryCounts {
    Index missing;
    Index tiny;
};

template <class Target, class T>
struct EntryKernels {
    /// Count the entries that are NaN, and those with 0 < |x| < bound.
    static EntryCounts count_missing_and_tiny(Vector<const T> values, T bound);
};

}  // namespace thalweg
