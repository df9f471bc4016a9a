// A convex quadratic over the nonnegative orthant.
#pragma once

#include <cmath>

#include "support/array.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Entries of a solution below this share of its largest entry count as zero.
/// Safety margin against rounding errors, which are about 1e-16.
constexpr double rounding_share = 1e-13;

/// The quadratic h'Gh/2 - c'h.
struct Quadratic {
    Matrix<const double> G;
    Matrix<const double> inverse;
    bool trusted;  // whether the inverse is accurate
    Vector<const double> c;
    Vector<const double> u;  // c'G^-1 if trusted
};

/// A point, its support and its gradient y = G h - c.
struct NonnegativePoint {
    Vector<double> h;
    Vector<bool> passive;  // the support of h
    Vector<double> y;
};

/// Set y += sum_i factors[i] row(i).
template <class RowOf>
THALWEG_INLINE void add_rows(Vector<const double> factors, RowOf row, Vector<double> y) {
    for_each<double>(y.size, [&](auto at) THALWEG_INLINE_BODY {
        auto value = at(y);
        for (Index i = 0; i < factors.size; ++i) value += factors[i] * at(row(i));
        at.store(y, value);
    });
}

/// Return the largest modulus of the entries, at least 0.
THALWEG_INLINE double largest_modulus(Vector<const double> x) {
    using Lanes = Pack<double, register_bytes>;
    Lanes tops = Lanes::fill(0.0);
    Index k = 0;
    for (; k + Lanes::lanes <= x.size; k += Lanes::lanes)
        tops = larger(modulus(Lanes::load(x.data + k)), tops);
    double top = largest(tops);
    for (; k < x.size; ++k) top = larger(std::fabs(x[k]), top);
    return top;
}

/// The largest x and -x of the values that a loop gives to add, at least 0.
class Extent {
   public:
    template <class Value>
    THALWEG_INLINE void add(Value x) {
        if constexpr (std::floating_point<Value>) {
            highest_ = larger(x, highest_);
            lowest_ = larger(-x, lowest_);
        } else if constexpr (sizeof(Value) > register_bytes) {
            add(x.half(0));
            add(x.half(1));
        } else if constexpr (sizeof(Value) == register_bytes) {
            top_ = larger(x, top_);
            bottom_ = larger(-x, bottom_);
        } else {
            highest_ = larger(largest(x), highest_);
            lowest_ = larger(largest(-x), lowest_);
        }
    }
    THALWEG_INLINE double highest() const { return larger(largest(top_), highest_); }
    THALWEG_INLINE double lowest() const { return larger(largest(bottom_), lowest_); }

   private:
    using Lanes = Pack<double, register_bytes>;

    Lanes top_ = Lanes::fill(0.0), bottom_ = Lanes::fill(0.0);
    double highest_ = 0.0, lowest_ = 0.0;
};

/// Set y = G h - c for a symmetric G.
inline void quadratic_gradient(Matrix<const double> G, Vector<const double> c,
                               Vector<const double> h, Vector<double> y) {
    for_each<double>(y.size, [&](auto at) THALWEG_INLINE_BODY { at.store(y, -at(c)); });
    add_rows(h, [&](Index k) { return G[k]; }, y);
}

}  // namespace
}  // namespace thalweg
