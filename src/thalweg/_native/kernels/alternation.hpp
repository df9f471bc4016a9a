// The alternation of robust codes on one block of samples.
#pragma once

#include <concepts>
#include <limits>

#include "kernels/active_rows.hpp"
#include "kernels/apply_inverses.hpp"
#include "kernels/entry_scales.hpp"
#include "kernels/nonnegative_quadratic.hpp"
#include "kernels/robust_codes.hpp"
#include "kernels/soft_threshold.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/products.hpp"

namespace thalweg {
namespace {

/// The share of the codes in what an alternation lowers the loss by; outliers make up the rest.
/// Measured on the data of benchmark online_peers.
constexpr double share_of_codes = 1.0 / 3.0;

/// The alternation of some rows of V.
template <class Target, class T>
class Alternation {
   public:
    using Problem = typename RobustCodeKernels<Target, T>::Problem;
    using Codes = typename RobustCodeKernels<Target, T>::Codes;

    /// Rows begin, ..., end - 1; `columns` is W'.
    Alternation(const Problem& problem, Codes codes, Matrix<const T> columns, Index begin,
                Index end)
        : p_(problem),
          settings_(problem.settings),
          codes_(codes),
          columns_(columns),
          begin_(begin),
          n_(end - begin),
          K_(columns.cols),
          rows_(n_, columns.rows, K_),
          narrow_(n_, K_),
          slope_(n_, K_),
          linear_(n_, K_),
          unconstrained_(n_, K_),
          gradient_(n_, K_),
          noise_share_(n_),
          rounding_(n_),
          solver_(K_) {}

    void run() {
        prepare();
        if (settings_.warm_start)
            start_at_codes();
        else
            start_without_outliers();
        Index m = n_;
        for (Index step = 0; step <= settings_.max_iter; ++step) {
            interruption_point();
            const bool last = step == settings_.max_iter;
            split(m, last);
            m = remove_settled(m, last);
            if (m == 0) break;
            product<T>(Into::set, rows_.residual.rows_between(0, m), columns_, first(slope_, m));
            set_quadratics(m, settings_.relaxation);
            rows_.swap_codes();
            minimise(m);
            m = check(m);
        }
        if (p_.observed.rows > 0) explain_missing();
    }

   private:
    template <class S>
    static Matrix<S> first(const Buffer<S>& buffer, Index m) {
        return buffer.matrix().rows_between(0, m);
    }

    /// Set rounding errors of losses, which collinear columns enlarge, and shares of noise.
    void prepare() {
        constexpr auto eps = static_cast<double>(std::numeric_limits<T>::epsilon());
        const auto K = static_cast<double>(K_);
        for (Index s = 0; s < n_; ++s) {
            const Vector<const T> v = p_.V[begin_ + s];
            const double variance = K * eps * eps + p_.gram.rounding(begin_ + s);
            rounding_[s] = variance * static_cast<double>(dot(v, v));
            const double n = observed_entries(p_.observed, p_.scales, begin_ + s, v.size);
            noise_share_[s] = settings_.noise_tol * K / larger(n, 1.0);
            rows_.order[s] = s;
            rows_.settled[s] = false;
        }
    }

    void start_at_codes() {
        for (Index s = 0; s < n_; ++s) {
            const Vector<double> h = rows_.h[s];
            copy(codes_.H[begin_ + s], h);
            for (Index k = 0; k < K_; ++k) rows_.passive(s, k) = h[k] > 0.0;
            rows_.weight[s] = static_cast<T>(p_.outliers.weight);
        }
        if (p_.gram.shared()) return product<double>(Into::set, rows_.h, p_.gram.G[0], rows_.image);
        for (Index s = 0; s < n_; ++s) {
            const Matrix<const double> G = p_.gram.G[p_.gram.of(begin_ + s)];
            fill(rows_.image[s], 0.0);
            add_rows(rows_.h[s], [&](Index k) { return G[k]; }, rows_.image[s]);
        }
    }

    /// Find the codes without outliers. Supports are guessed from the signs of the unconstrained
    /// solution; without an accurate inverse, all entries are taken.
    void start_without_outliers() {
        fill(rows_.h, 0.0);
        fill(rows_.image, 0.0);
        fill(rows_.weight, std::numeric_limits<T>::infinity());
        fill(unconstrained_.matrix(), 1.0);
        const bool scaled = p_.scales.rows > 0;
        for (Index s = 0; scaled && s < n_; ++s) {
            copy(p_.V[begin_ + s], rows_.residual[s]);
            scale_row(p_.scales, begin_ + s, rows_.residual[s]);
        }
        const Matrix<const T> v = p_.V.rows_between(begin_, begin_ + n_);
        product<T>(Into::set, scaled ? Matrix<const T>(rows_.residual) : v, columns_, slope_);
        set_quadratics(n_, 1.0);
        for (Index i = 0; i < n_ * K_; ++i) rows_.passive.data[i] = unconstrained_[i] > 0.0;
        minimise(n_);
        for (Index s = 0; s < n_; ++s) set_image(s, s);
    }

    /// Split v - W'h of m rows into noise and outliers. A step of the codes is limited by the
    /// weight, so that a small weight would need many steps from a distant start: the weight comes
    /// down from the mean residual, by half each time. An infinite weight is not set yet.
    void split(Index m, bool last) {
        multiply_codes(m);
        const T target = static_cast<T>(p_.outliers.weight);
        for (Index s = 0; s < m; ++s) {
            const Index t = begin_ + rows_.order[s];
            const Vector<const T> v = p_.V[t];
            const Vector<T> z = rows_.residual[s];
            if (p_.observed.rows > 0) {
                const Vector<const bool> observed = p_.observed[t];
                for (Index i = 0; i < z.size; ++i) z[i] = observed[i] ? z[i] : v[i];
            }
            scale_row(p_.scales, t, z);
            T weight = target;
            if (!last) {
                const T before = rows_.weight[s];
                const bool unset = before == std::numeric_limits<T>::infinity();
                const T size = unset ? mean_residual<T>(v, z) : T(0.5) * before;
                weight = larger(target, size);
            }
            const SplitSums<T> sums =
                split_l1<T>([&](auto at) THALWEG_INLINE_BODY { return at(v) - at(z); }, weight,
                            p_.outliers, z, codes_.R[t]);
            scale_row(p_.scales, t, z);  // the slope is W (s e)
            rows_.weight[s] = weight;
            rows_.half_square[s] = static_cast<double>(sums.half_square);
            rows_.outlier_cost[s] = static_cast<double>(weight) * static_cast<double>(sums.modulus);
        }
    }

    /// Set the residuals of m rows to W'h.
    void multiply_codes(Index m) {
        const Matrix<T> products = rows_.residual.rows_between(0, m);
        if constexpr (std::same_as<T, double>) {
            product<T>(Into::set, rows_.h.rows_between(0, m), p_.W, products);
        } else {
            for (Index s = 0; s < m; ++s) copy(rows_.h[s], narrow_.matrix()[s]);
            product<T>(Into::set, first(narrow_, m), p_.W, products);
        }
    }

    /// Record the rows whose last outliers are found; return how many are left.
    Index remove_settled(Index m, bool last) {
        Index kept = 0;
        for (Index s = 0; s < m; ++s) {
            if (rows_.settled[s] || last) {
                const double cost = rows_.outlier_cost[s] + code_cost(rows_.h[s]);
                record(s, rows_.half_square[s] + cost, cost);
                continue;
            }
            if (kept < s) {
                copy(rows_.residual[s], rows_.residual[kept]);
                rows_.move(s, kept);
            }
            ++kept;
        }
        return kept;
    }

    /// Set the quadratics that m rows minimise next: majorisers of the loss, over-relaxed.
    void set_quadratics(Index m, double relaxation) {
        const double l1 = settings_.l1, l2 = settings_.l2;
        for (Index s = 0; s < m; ++s) {
            const double *h = rows_.h[s].data, *image = rows_.image[s].data;
            const T* slope = slope_.matrix()[s].data;
            double* c = linear_.matrix()[s].data;
            // The image contains the quadratic penalty, the slope does not.
            for (Index k = 0; k < K_; ++k)
                c[k] = image[k] + relaxation * (static_cast<double>(slope[k]) - l1 - l2 * h[k]);
        }
        apply_inverses(
            p_.gram, [&](Index s) { return begin_ + rows_.order[s]; }, first(linear_, m),
            first(unconstrained_, m));
    }

    /// Set the codes of m rows to the exact minimisers of their quadratics.
    void minimise(Index m) {
        const Index max_pivots = 2 * K_ + 50;  // safety margin; a handful is usual
        for (Index s = 0; s < m; ++s) {
            const Index at = p_.gram.of(begin_ + rows_.order[s]);
            const Quadratic q{p_.gram.G[at], p_.gram.inverse[at], p_.gram.trusted[at],
                              linear_.matrix()[s], unconstrained_.matrix()[s]};
            solver_.solve(q, {rows_.h[s], rows_.passive[s], gradient_.matrix()[s]}, max_pivots);
        }
    }

    /// Find the rows whose loss hardly fell as their codes changed; return how many are left. If
    /// the codes gain less than half of what noise_tol allows, the outliers stay as they are, and
    /// the row is recorded. A decrease by rounding errors counts for nothing.
    Index check(Index m) {
        Index kept = 0;
        for (Index s = 0; s < m; ++s) {
            const Index t = rows_.order[s];
            const double half = rows_.half_square[s];
            const double before = half + rows_.outlier_cost[s] + code_cost(rows_.old_h[s]);
            const double decrease = code_decrease(s), noise = noise_share_[t] * half;
            const bool low =
                decrease <= share_of_codes * settings_.tol * before + noise + rounding_[t];
            // The loss at another weight is that of another problem.
            const bool settled = low && rows_.weight[s] == static_cast<T>(p_.outliers.weight);
            rows_.settled[s] = codes_.solved[begin_ + t] = settled;
            if (settled && decrease < 0.5 * noise) {
                record(s, before - decrease, rows_.outlier_cost[s] + code_cost(rows_.h[s]));
                continue;
            }
            if (kept < s) rows_.move(s, kept);
            set_image(s, kept);
            ++kept;
        }
        return kept;
    }

    /// Return what the loss falls by when the codes of a row move and its outliers stay.
    double code_decrease(Index s) const {
        const Vector<const double> h = rows_.h[s], old = rows_.old_h[s], image = rows_.image[s],
                                   c = linear_.matrix()[s], y = gradient_.matrix()[s];
        const double inverse = 1.0 / settings_.relaxation;
        const double surplus = (settings_.relaxation - 1.0) * settings_.l2;
        return sum<double>(K_, [&](auto at) THALWEG_INLINE_BODY {
            const auto step = at(h) - at(old), change = at(c) - at(image);
            return step * (inverse * change - 0.5 * (change + at(y) - surplus * step));
        });
    }

    /// Set the image G h of a row that moves to another place.
    void set_image(Index from, Index to) const {
        const Vector<const double> c = linear_.matrix()[from], y = gradient_.matrix()[from];
        for_each<double>(
            K_, [&](auto at) THALWEG_INLINE_BODY { at.store(rows_.image[to], at(c) + at(y)); });
    }

    double code_cost(Vector<const double> h) const {
        const double l1 = settings_.l1, half = 0.5 * settings_.l2;
        if (l1 == 0.0 && half == 0.0) return 0.0;
        return sum<double>(
            K_, [&](auto at) THALWEG_INLINE_BODY { return at(h) * (l1 + half * at(h)); });
    }

    void record(Index s, double loss, double cost) const {
        const Index t = begin_ + rows_.order[s];
        copy(rows_.h[s], codes_.H[t]);
        codes_.loss[t] = static_cast<T>(loss);
        codes_.cost[t] = static_cast<T>(cost);
    }

    /// Set the outliers of missing entries to v - W'h, at no cost.
    void explain_missing() {
        product<T>(Into::set, codes_.H.rows_between(begin_, begin_ + n_), p_.W, rows_.residual);
        for (Index s = 0, t = begin_; s < n_; ++s, ++t)
            add_missing<T>(p_.observed[t], p_.V[t], rows_.residual[s], codes_.R[t]);
    }

    const Problem& p_;
    const AlternationSettings settings_;
    const Codes codes_;
    const Matrix<const T> columns_;
    const Index begin_, n_, K_;
    ActiveRows<T> rows_;
    Buffer<T> narrow_;              // codes in the precision of W
    Buffer<T> slope_;               // W (v - W'h - r)
    Buffer<double> linear_;         // c of the quadratics h'Gh/2 - c'h
    Buffer<double> unconstrained_;  // c'G^-1
    Buffer<double> gradient_;       // G h - c at the minimum
    Buffer<double> noise_share_;    // noise_tol K / n_observed
    Buffer<double> rounding_;       // of the loss
    NonnegativeSolver solver_;
};

}  // namespace
}  // namespace thalweg
