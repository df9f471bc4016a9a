// Order of numbers among which there are NaN.
#pragma once

#include <cmath>

namespace thalweg {
namespace {

/// Ascending order with NaN at the end, for the algorithms of the standard library.
struct NanLast {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b || (std::isnan(b) && !std::isnan(a));
    }
};

}  // namespace
}  // namespace thalweg
