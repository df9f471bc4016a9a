// Huber's fit by Algorithm 2 of [T], the alternating direction method of multipliers.
#pragma once

#include <cmath>

#include "kernels/row_passes.hpp"

namespace thalweg {
namespace {

/// Entries of type T in double precision.
template <class T>
THALWEG_INLINE Pack<double, 64> load_doubles(const T* place) {
    double entries[8];
    for (int i = 0; i < 8; ++i) entries[i] = static_cast<double>(place[i]);
    return Pack<double, 64>::load(entries);
}
template <class T>
THALWEG_INLINE void store_doubles(Pack<double, 64> values, T* place) {
    double entries[8];
    values.store(entries);
    for (int i = 0; i < 8; ++i) place[i] = static_cast<T>(entries[i]);
}

/// sign(x) max(|x| - by, 0)
template <class V>
THALWEG_INLINE V soft_thresholded(V x, double by) {
    return x - smaller(larger(x, -by), by);
}

/// Minimise |x - U h - s|^2 / 2 + weight |s|_1 over codes h and outliers s, from h = 0.
template <class T>
class ADMM {
   public:
    ADMM(Index n, Index K, const ADMMSettings& settings)
        : settings_(settings), state_(3 * n), none_(K) {
        none_.zero();
    }

    /// Set h and r = x - U h; return whether the stopping rule was met.
    bool minimise(const Sample<T>& sample, double weight, Passes<T>& passes, Vector<T> h,
                  Vector<T> r) {
        const Index n = sample.x.size;
        s_ = state_.vector().slice(0, n);
        dual_ = state_.vector().slice(n, 2 * n);
        e_ = state_.vector().slice(2 * n, 3 * n);
        fill(state_.vector().first(3 * n), 0.0);
        fill(passes.weight.first(n), T(1));
        passes.gram(sample.U);
        fill(h, T(0));
        copy(sample.x, r);
        const Vector<T> target = passes.residual.first(n);
        const auto squares = Influence<T>::least_squares();
        for (Index i = 0; i < settings_.max_iter; ++i) {
            const bool met = update_outliers(sample, weight, r, target);
            passes.advance(sample.U, none_.vector(), target, squares, target);
            passes.equations.solve(Vector<const double>(passes.equations.g), relative_ridge<T>(),
                                   0.0, h);  // [T] (20)
            passes.advance(sample.U, h, sample.x, squares, r);
            update_errors(weight, r);
            if (met) return true;
        }
        return false;
    }

   private:
    /// Update outliers, their duals and the target of the codes; return whether s ceased to vary.
    bool update_outliers(const Sample<T>& sample, double weight, Vector<const T> r,
                         Vector<T> target) const {
        const double rho = settings_.rho1, scale = 1.0 / (1.0 + rho);
        auto change = Pack<double, 64>::fill(0.0), size = change;
        for (Index i = 0; i < r.size; i += 8) {
            const auto before = load_doubles(s_.data + i), dual = load_doubles(dual_.data + i);
            // [T] (15), its sign corrected
            const auto u = (load_doubles(r.data + i) + rho * (before - dual)) * scale;
            const auto both = u + dual;
            const auto s = soft_thresholded(both, weight / rho);  // [T] (16)
            const auto left = both - s;                           // [T] Algorithm 2, line 10
            change += (s - before) * (s - before);
            size += left * left;
            s.store(s_.data + i);
            left.store(dual_.data + i);
            store_doubles(load_doubles(sample.x.data + i) - s + load_doubles(e_.data + i),
                          target.data + i);
        }
        const double absolute = settings_.abs_tol * weight;
        return std::sqrt(total(change)) < std::sqrt(static_cast<double>(sample.count)) * absolute +
                                              settings_.rel_tol * rho * std::sqrt(total(size));
    }

    /// Update the errors of the fit by the proximal operator of Huber's function.
    void update_errors(double weight, Vector<const T> r) const {
        const double rho = settings_.rho2;
        const double threshold = settings_.huber_ratio * weight * (1.0 + 1.0 / rho);
        for (Index i = 0; i < r.size; i += 8) {
            const auto z = load_doubles(s_.data + i) - load_doubles(r.data + i);      // [T] (21)
            const auto e = (rho * z + soft_thresholded(z, threshold)) / (1.0 + rho);  // [T] (22)
            e.store(e_.data + i);
        }
    }

    ADMMSettings settings_;
    Buffer<double> state_, none_;
    Vector<double> s_, dual_, e_;
};

}  // namespace
}  // namespace thalweg
