// Codes of a sample with outliers: a robust fit, rejection, and least squares on the rest.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/admm.hpp"
#include "kernels/huber.hpp"
#include "kernels/sample_fit.hpp"
#include "support/constants.hpp"

namespace thalweg {
namespace {

/// Iterations of rejection and least squares.
inline constexpr int max_rejections = 10;
/// Share of the squared threshold below which a step to the prior is not made.
inline constexpr double negligible_shrinkage = 1e-16;
/// Share of the entries that a fit has to keep.
inline constexpr double min_kept_share = 0.3;
/// Largest |h|^2 of codes of few entries that do not fit, in units of the typical one.
inline constexpr double max_relative_size = 16.0;
/// Huber's threshold while the noise scale is unknown, in units of the median |x|.
inline constexpr double first_huber_threshold = 1e-2;
/// A sample's noise, and prior of its codes.
struct NoiseScale {
    double scale;  // standard deviation of the noise; 0 if it is unknown
    double prior;  // precision of the codes
};

/// Result of the fit of a sample.
struct RejectionFit {
    double scale;         // noise scale, from the sample itself if it was unknown
    Quantiles residuals;  // before anything is rejected
    Index spare;          // entries kept beyond the number of codes
    double code_size;     // |h|^2 as far as the entries determine it
    bool solved;          // whether the convex problem was solved
};

/// The robust fit of samples: codes h, residuals r, and marks that are 1 for entries kept.
template <class T>
class Rejection {
   public:
    /// Fits of samples with rows of U.
    Rejection(Cube<const T> U, const RejectionSettings& settings)
        : settings_(settings),
          passes_(U.size * U.cols, U.rows),
          sketch_(U),
          admm_(settings.use_admm ? U.size * U.cols : 0, U.rows, settings.admm),
          entries_(2 * U.size * U.cols),
          codes_(2 * U.rows),
          room_(2 * quantile_entries),
          h_(codes_.vector().first(U.rows)) {}

    /// Fit a sample, and reject entries beyond the threshold.
    ///
    /// Where only few entries were observed, all are kept or none.
    RejectionFit fit(const Sample<T>& sample, NoiseScale noise, const BasisScale& basis) {
        sample_ = sample;
        r_ = entries_.vector().first(sample.x.size);
        clean_ = entries_.vector().slice(r_.size, 2 * r_.size);
        const Index K = h_.size;
        typical_size_ = noise.prior > 0.0
                            ? noise.scale * noise.scale * static_cast<double>(K) / noise.prior
                            : std::numeric_limits<double>::infinity();
        noise.prior = bounded_prior<T>(noise.prior, basis, sample.count, K);
        fill(h_, T(0));
        return few_entries(sample.count, K) ? fit_few(noise, basis) : fit_many(noise, basis);
    }

    /// Sum of squares of the residuals of the entries kept.
    double kept_squares() const { return Passes<T>::squares(r_, clean_); }

    Vector<T> codes() const { return h_; }
    Vector<T> residuals() const { return r_; }
    /// Marks that are 1 for entries kept, 0 for outliers.
    Vector<T> kept() const { return clean_; }

   private:
    Quantiles quantiles_of(Vector<const T> values, Index K) const {
        return quantiles<T>(values, sample_.count, K, room_.vector());
    }
    double own_scale(const Quantiles& residuals) const {
        return mad_to_standard_deviation * residuals.median;
    }

    /// Set r = from - U step and g, compare with the threshold.
    template <class S>
    Crossings advance(Vector<S> step, Vector<const T> from, T threshold) {
        return passes_.advance(sample_.U, step, from, Influence<T>::truncated(threshold), r_);
    }

    bool fit_huber(T threshold, double longest_row) {
        return HuberFit<T>(sample_, threshold, passes_).minimise(longest_row, max_newton_steps, h_);
    }

    RejectionFit fit_many(NoiseScale noise, const BasisScale& basis) {
        const bool known = noise.scale > 0.0;
        const double huber = known ? settings_.huber_threshold * noise.scale
                                   : first_huber_threshold * quantiles_of(sample_.x, 0).median;
        const T huber_threshold = static_cast<T>(huber);
        const double longest_row = basis.extent.longest;
        T threshold = static_cast<T>(settings_.threshold * noise.scale);
        bool close = false, solved = false;
        if (settings_.use_admm) {
            solved = admm_.minimise(sample_, static_cast<double>(huber_threshold), passes_, h_, r_);
        } else {
            if (known)
                close =
                    sketch_.approach(sample_, huber_threshold, threshold, basis, passes_, h_, r_);
            else
                sketch_.fit(sample_, huber_threshold, longest_row, passes_, h_);
            solved = close || fit_huber(huber_threshold, longest_row);
        }
        if (!known) {
            advance(h_, sample_.x, std::numeric_limits<T>::infinity());
            noise.scale = own_scale(quantiles_of(r_, h_.size));
            threshold = static_cast<T>(settings_.threshold * noise.scale);
        }
        const Index share = static_cast<Index>(min_kept_share * static_cast<double>(sample_.count));
        RejectionFit result = reject(threshold, std::max(h_.size + 1, share), noise.prior, close);
        result.scale = noise.scale;
        result.solved = solved;
        return result;
    }

    RejectionFit fit_few(NoiseScale noise, const BasisScale& basis) {
        const bool known = noise.scale > 0.0;
        const Index count = sample_.count, K = h_.size;
        fit_least_squares(sample_, noise.prior, passes_, h_, r_);
        const double code_size = passes_.equations.determined_size(h_);
        const Quantiles residuals = quantiles_of(r_, K);
        if (!known) noise.scale = own_scale(residuals);
        const double threshold = settings_.threshold * noise.scale;
        const double squares = Passes<T>::squares(r_, passes_.weight.first(r_.size));
        const bool fits = squares <= threshold * threshold * static_cast<double>(count - K);
        fill(clean_, fits ? T(1) : T(0));
        if (known && !fits) fit_consistent(noise, threshold, basis.extent.longest);
        return {noise.scale, residuals, (fits ? count : 0) - K, code_size, true};
    }

    /// Change the codes of few entries that do not fit.
    ///
    /// If there are more entries than codes, these are of the largest consistent subset, or zero if
    /// only chance makes it consistent. Codes much longer than typical are shortened: nothing else
    /// reveals an outlier among so few.
    void fit_consistent(NoiseScale noise, double threshold, double longest_row) {
        const Index K = h_.size;
        const T limit = static_cast<T>(threshold);
        if (sample_.count > K) {
            fill(h_, T(0));
            fit_huber(static_cast<T>(settings_.huber_threshold * noise.scale), longest_row);
            if (reject(limit, K + 1, noise.prior, false).spare <= 0) fill(h_, T(0));
        }
        const double size = squared_norm(h_), largest = max_relative_size * typical_size_;
        if (!(size < std::numeric_limits<double>::infinity())) {
            fill(h_, T(0));  // the scales of sample and basis are too far apart
        } else if (size > largest) {
            const T factor = static_cast<T>(std::sqrt(largest / size));
            for (Index k = 0; k < K; ++k) h_[k] *= factor;
        }
        advance(h_, sample_.x, limit);
        passes_.weights_within(clean_.size, clean_);
    }

    /// Fit the entries within the threshold, until these stay the same.
    ///
    /// If fewer than `min_kept` are left, they fit one another by chance: then the first fit stays,
    /// which all entries had a part in. Codes that the entries kept hardly determine are shrunk at
    /// the end, by the prior. If it is `close`, HuberSketch::approach has led there.
    RejectionFit reject(T threshold, Index min_kept, double prior, bool close) {
        const NormalEquations& equations = passes_.equations;
        const Cube<const T> U = sample_.U;
        const double n = static_cast<double>(r_.size), count = static_cast<double>(sample_.count);
        const Vector<T> first = codes_.vector().slice(h_.size, 2 * h_.size);
        copy(h_, first);
        double far = 0.0;
        Crossings now =
            close ? advance(equations.step, r_, threshold)
                  : passes_.advance_and_gram(U, h_, sample_.x, Influence<T>::truncated(threshold),
                                             r_, threshold, far);
        if (!close) now.changed = 0.0;
        const Quantiles residuals = quantiles_of(r_, h_.size);
        for (int i = 0; i < max_rejections; ++i) {
            if (count - now.beyond < static_cast<double>(min_kept)) {
                copy(first, h_);
                now = advance(h_, sample_.x, threshold);
                now.changed = n;
                break;
            }
            if (now.changed * few_changes < n)
                passes_.exchange(U);
            else
                set_gram();
            equations.solve_step<T>();
            add_step(equations.step, h_);
            now = advance(equations.step, r_, threshold);
            if (now.changed == 0.0) break;
        }
        if (now.changed != 0.0) set_gram();
        const double limit = static_cast<double>(threshold);
        if (shrink(prior, negligible_shrinkage * limit * limit))
            now = advance(equations.step, r_, threshold);
        passes_.weights_within(clean_.size, clean_);
        const Index kept = sample_.count - static_cast<Index>(now.beyond);
        return {0.0, residuals, kept - h_.size, equations.determined_size(h_), true};
    }

    void set_gram() {
        passes_.weights_within(r_.size, passes_.weight);
        passes_.gram(sample_.U);
    }

    /// Shrink the codes that their matrix G hardly determines, by the prior.
    ///
    /// Return whether h moved by more than a small square; the step is that of the equations.
    bool shrink(double prior, double small) {
        const NormalEquations& equations = passes_.equations;
        const Index K = h_.size;
        for (Index k = 0; k < K; ++k) equations.g[k] = equations.product(k, h_);
        equations.solve<double>(equations.g, relative_ridge<T>(), prior, equations.step);
        double square = 0.0;
        for (Index k = 0; k < K; ++k) {
            double& step = equations.step[k];
            step -= static_cast<double>(h_[k]);
            square += prior * step * step;
        }
        for (Index k = 0; k < K; ++k)
            square += equations.step[k] * equations.product(k, equations.step);
        if (square <= small) return false;
        add_step(equations.step, h_);
        return true;
    }

    const RejectionSettings settings_;
    Passes<T> passes_;
    HuberSketch<T> sketch_;
    ADMM<T> admm_;
    Buffer<T> entries_, codes_, room_;
    Sample<T> sample_{};
    double typical_size_ = 0.0;
    const Vector<T> h_;
    Vector<T> r_, clean_;
};

}  // namespace
}  // namespace thalweg
