// The penalty of outliers.
#pragma once

namespace thalweg {

/// The penalty weight |r|_1 of outliers, subject to lower <= r <= upper.
struct L1Penalty {
    double weight;
    double upper;
    double lower;  // -upper or 0
};

}  // namespace thalweg
