// Sets that atoms are kept in.
#pragma once

#include "support/array.hpp"

namespace thalweg {

/// The set of x >= 0 with l1 sum(x) + l2/2 sum(x^2) <= 1, or = 1: simplex, balls, elastic net.
struct ElasticNetSet {
    double l1;
    double l2;
    bool equality;
};

/// A set for each atom: the same elastic net, or a box for each if bounds are given.
template <class T>
struct AtomSets {
    ElasticNetSet elastic_net{};
    Matrix<const T> lower{};
    Matrix<const T> upper{};

    bool is_box() const { return lower.data != nullptr; }
};

}  // namespace thalweg
