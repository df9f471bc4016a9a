// Codes that minimise Huber's function of the residuals: sum_i huber(x_i - u_i'h; threshold).
//
// It is min_s |x - U h - s|^2 / 2 + threshold |s|_1.
#pragma once

#include <cmath>

#include "kernels/row_passes.hpp"

namespace thalweg {
namespace {

/// Steps of a fit; a few are typical.
inline constexpr Index max_newton_steps = 60;
/// The first steps are of reweighted least squares.
inline constexpr Index reweighted_steps = 3;
/// Halvings or doublings of a step in the line search.
inline constexpr int max_halvings = 30;
/// Share of the first slope that may be left at the end of a step.
inline constexpr double flat_slope = 0.1;
/// A way of this share of the threshold is none: rounding.
inline constexpr double negligible_step = 1e-9;
/// Share of the standard error of codes that an approximate fit may add to it.
inline constexpr double approximation_error = 0.1;
/// Of many blocks, one of this many is fitted first, if there are enough of them.
inline constexpr Index sketch_stride = 16;
inline constexpr Index min_sketch_blocks = 32;

/// A line search from residuals r to a trial: the share of the way at which Huber's function has
/// fallen well.
template <class T>
struct LineSearch {
    Vector<const T> r;
    Vector<const T> trial;
    double threshold;

    /// Return the derivative of Huber's function at a share of the way.
    double slope(double share) const {
        constexpr Index width = 8;
        double sums[width] = {};
        for (Index i = 0; i < r.size; i += width) {
            for (Index j = 0; j < width; ++j) {
                const double start = static_cast<double>(r.data[i + j]);
                const double way = static_cast<double>(trial.data[i + j]) - start;
                const double value = start + share * way;
                sums[j] += smaller(threshold, larger(-threshold, value)) * way;
            }
        }
        double sum = 0.0;
        for (Index j = 0; j < width; ++j) sum += sums[j];
        return sum;
    }

    /// Return the share: 1 if the slope there is much less steep than the first one.
    double share(double first, double last) const {
        double low = 0.0, high = 1.0, below = first, above = last;
        const double steep = flat_slope * std::fabs(below);
        for (int i = 0; i < max_halvings && above < -steep; ++i) {
            low = high;
            below = above;
            high *= 2.0;
            above = slope(high);
        }
        double share = high, now = above;
        for (int i = 0; i < 2 * max_halvings && !(std::fabs(now) <= steep); ++i) {
            // The slope is piecewise linear: a secant has its zero once both ends are on one
            // piece. If it does not rise, that is rounding.
            const double rise = above - below;
            const bool halve = i % 2 != 0 || rise <= 0.0;
            share = halve ? 0.5 * (low + high) : low - below * (high - low) / rise;
            now = slope(share);
            if (now < 0.0) {
                low = share;
                below = now;
            } else {
                high = share;
                above = now;
            }
        }
        return share;
    }

    /// Whether no entry moves by more than a distance.
    bool within(double distance) const {
        Lanes<T> farthest = Lanes<T>::fill(T(0));
        for (Index b = 0; b < r.size / Lanes<T>::lanes; ++b)
            farthest = larger(modulus(load_block(trial, b) - load_block(r, b)), farthest);
        return static_cast<double>(largest(farthest)) <= distance;
    }
};

/// Return the least distance of an entry of r from the threshold.
template <class T>
double distance_to_threshold(Vector<const T> r, T threshold) {
    Lanes<T> nearest = Lanes<T>::fill(-threshold);
    for (Index b = 0; b < r.size / Lanes<T>::lanes; ++b)
        nearest = larger(nearest, -modulus(modulus(load_block(r, b)) - threshold));
    return -static_cast<double>(largest(nearest));
}

/// Newton's method for Huber's function.
///
/// Newton's step is exact if it leaves every entry on its side of the threshold. That need not be
/// checked if it is shorter than any way to the threshold, as with rows up to `longest_row`.
/// Before, a line search shortens or extends it. The first steps, and those without an entry
/// within the threshold, are of reweighted least squares.
template <class T>
class HuberFit {
   public:
    HuberFit(const Sample<T>& sample, T threshold, Passes<T>& passes)
        : U_(sample.U),
          x_(sample.x),
          count_(static_cast<double>(sample.count)),
          threshold_(threshold),
          psi_(Influence<T>::huber(threshold)),
          passes_(passes),
          r_(passes.residual.first(x_.size)),
          trial_(passes.trial.first(x_.size)) {}

    /// Minimise from h; return whether the minimum was reached. G is that of the last step.
    bool minimise(double longest_row, Index max_steps, Vector<T> h) {
        begin(h);
        const NormalEquations& equations = passes_.equations;
        for (Index step = 0; step < max_steps; ++step) {
            const bool careful = step < reweighted_steps && !warm_;
            const bool newton = now_.beyond < count_ && !careful;
            set_gram(newton);
            equations.solve_step<T>();
            if (newton && longest_row * std::sqrt(squared_norm(equations.step)) <
                              distance_to_threshold<T>(r_, threshold_)) {
                add_step(equations.step, h);
                return true;
            }
            const bool still = move(newton, careful);
            add_step(equations.step, h);
            if (still && !careful) return true;
        }
        return false;
    }

   private:
    void begin(Vector<T> h) {
        for (Index k = 0; k < h.size; ++k) warm_ = warm_ || h[k] != T(0);
        double far = 0.0;
        now_ = warm_ ? passes_.advance_and_gram(U_, h, x_, psi_, r_, threshold_, far)
                     : passes_.advance(U_, h, x_, psi_, r_);
        now_.changed = 0.0;
        gram_is_newtons_ = warm_;
    }

    /// Set G, with weights of Newton's step or of reweighted least squares.
    void set_gram(bool newton) {
        const Index n = x_.size;
        if (newton && gram_is_newtons_ && now_.changed * few_changes < static_cast<double>(n)) {
            passes_.exchange(U_);
            return;
        }
        passes_.weights_within(n, passes_.weight);
        if (!newton) {
            for (Index i = 0; i < n; ++i)
                if (passes_.side[i] != T(0)) passes_.weight[i] = threshold_ / modulus(r_[i]);
        }
        passes_.gram(U_);
        gram_is_newtons_ = newton;
    }

    /// Take the step, or the share of it that a line search finds; return whether it ends there.
    bool move(bool newton, bool careful) {
        const NormalEquations& equations = passes_.equations;
        const double first = -dot(equations.step, equations.g);
        now_ = passes_.advance(U_, equations.step, r_, psi_, trial_);
        const LineSearch<T> search{r_, trial_, static_cast<double>(threshold_)};
        const bool still =
            now_.changed == 0.0 && (newton || search.within(negligible_step * search.threshold));
        double share = 1.0;
        if (!careful && !still) share = search.share(first, -dot(equations.step, equations.g));
        if (share != 1.0) {
            for (Index k = 0; k < equations.step.size; ++k) equations.step[k] *= share;
            now_ = passes_.advance(U_, equations.step, r_, psi_, trial_);
            now_.changed = static_cast<double>(x_.size);
        }
        const Vector<T> before = r_;
        r_ = trial_;
        trial_ = before;
        return still;
    }

    Cube<const T> U_;
    Vector<const T> x_;
    double count_;
    T threshold_;
    Influence<T> psi_;
    Passes<T>& passes_;
    Vector<T> r_, trial_;
    Crossings now_;
    bool warm_ = false;
    bool gram_is_newtons_ = false;
};

/// Fits of many entries that start from a few of their blocks.
template <class T>
class HuberSketch {
   public:
    /// Memory for samples with up to as many blocks as U has.
    explicit HuberSketch(Cube<const T> U)
        : rows_(enough(U) ? U.size / sketch_stride * U.rows * U.cols : 0),
          x_(enough(U) ? U.size / sketch_stride * U.cols : 0) {}

    /// Set h to the minimum of Huber's function over a few of many blocks, from h, and make one
    /// step for all blocks with their matrix.
    ///
    /// Return the longest way of an entry in that step: 0 if there are too few blocks.
    double fit(const Sample<T>& sample, T threshold, double longest_row, Passes<T>& passes,
               Vector<T> h) {
        if (!enough(sample.U)) return 0.0;
        const Sample<T> few = thinned(sample);
        HuberFit<T>(few, threshold, passes).minimise(longest_row, max_newton_steps, h);
        const Vector<T> r = passes.residual.first(sample.x.size);
        passes.advance(sample.U, h, sample.x, Influence<T>{threshold, threshold}, r);
        const NormalEquations& equations = passes.equations;
        equations.solve_step<T>();
        const double share = static_cast<double>(few.U.size) / static_cast<double>(sample.U.size);
        for (Index k = 0; k < h.size; ++k) equations.step[k] *= share;
        add_step(equations.step, h);
        return longest_row * std::sqrt(squared_norm(equations.step));
    }

    /// Set h close to the minimum of Huber's function, if there are many blocks; return whether.
    ///
    /// From `fit` it is one step, whose matrix is that of the entries within the limit, times the
    /// share of them that is within the threshold. r, sides and G are of the limit and of the codes
    /// before the step: the rejection of outliers continues with them.
    ///
    /// The step has to leave an error far below the standard error of the codes. Entries go on to
    /// change sides at the rate of the step before, and each adds its share to the error; the
    /// matrix is wrong by the chance in the number of entries.
    bool approach(const Sample<T>& sample, T threshold, T limit, const BasisScale& basis,
                  Passes<T>& passes, Vector<T> h, Vector<T> r) {
        const double way = fit(sample, threshold, basis.extent.longest, passes, h);
        if (way == 0.0) return false;
        double far = 0.0;
        const Crossings now = passes.advance_and_gram(
            sample.U, h, sample.x, Influence<T>{threshold, threshold}, r, limit, far);
        const double count = static_cast<double>(sample.count), K = static_cast<double>(h.size);
        const double share = 1.0 / larger(1.0, count - now.beyond);
        const NormalEquations& equations = passes.equations;
        equations.solve_step<T>();
        for (Index k = 0; k < h.size; ++k) equations.step[k] *= share * (count - far);
        const double size = std::sqrt(squared_norm(equations.step));
        const double chance = std::sqrt(share * K);
        const double crossing = share * now.changed * basis.extent.longest * size / way;
        const double error = (crossing + chance) * size *
                             std::sqrt(basis.extent.energy / (static_cast<double>(basis.n) * K));
        if (!(error < approximation_error * static_cast<double>(threshold) * chance)) return false;
        add_step(equations.step, h);
        return true;
    }

   private:
    static bool enough(Cube<const T> U) { return U.size / sketch_stride >= min_sketch_blocks; }

    Sample<T> thinned(const Sample<T>& sample) {
        const Index blocks = sample.U.size / sketch_stride, lanes = sample.U.cols;
        const Cube<T> rows{rows_.vector().data, blocks, sample.U.rows, lanes};
        for (Index b = 0; b < blocks; ++b) {
            const Index source = b * sketch_stride;
            for (Index k = 0; k < rows.rows; ++k)
                load_rows(sample.U, source, k).store(rows[b][k].data);
            store_block<T>(x_, b, load_block(sample.x, source));
        }
        return {rows, x_.vector().first(blocks * lanes), blocks * lanes};
    }

    Buffer<T> rows_, x_;
};

}  // namespace
}  // namespace thalweg
