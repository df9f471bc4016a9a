#include "kernels/petrels.hpp"

#include <cmath>
#include <limits>

#include "kernels/feature_statistics.hpp"
#include "kernels/noise_statistics.hpp"
#include "kernels/rejection.hpp"
#include "kernels/rls.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Rows times codes in the samples of one task of the pool: 50 us or more.
constexpr Index entries_per_task = 1 << 15;

/// Call f(entries, t) for all samples t, in parallel; f has memory of its task, made by make().
template <class T, class Make, class F>
void for_samples(Samples<T> samples, Cube<const T> U, Make make, F f) {
    const Index work = samples.X.cols * (U.rows + 8) + 1;
    const Index per_task = entries_per_task / work > 4 ? entries_per_task / work : 4;
    parallel_blocks(samples.X.rows, per_task, [&](Index begin, Index end) {
        ObservedEntries<T> entries(U);
        auto memory = make();
        for (Index t = begin; t < end; ++t) {
            interruption_point();
            f(entries.take(samples.X[t], samples.observed[t]), entries, memory, t);
        }
    });
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

template <class Target, class T>
void PetrelsKernels<Target, T>::least_squares_codes(Samples<T> samples, Cube<const T> U,
                                                    Matrix<T> H) {
    const BasisScale basis{basis_extent(U), samples.X.cols};
    struct Memory {
        Passes<T> passes;
        Buffer<T> r;
    };
    for_samples(
        samples, U,
        [&] { return Memory{Passes<T>(U.size * U.cols, U.rows), Buffer<T>(U.size * U.cols)}; },
        [&](const Sample<T>& sample, auto&, Memory& memory, Index t) {
            fill(H[t], T(0));
            if (sample.count == 0) return;
            const double prior = bounded_prior<T>(0.0, basis, sample.count, U.rows);
            fit_least_squares(sample, prior, memory.passes, H[t],
                              memory.r.vector().first(sample.x.size));
        });
}

template <class Target, class T>
void PetrelsKernels<Target, T>::huber_codes(Samples<T> samples, Cube<const T> U, double threshold,
                                            Index max_steps, Matrix<T> H, Vector<bool> solved) {
    const double longest_row = basis_extent(U).longest;
    for_samples(
        samples, U, [&] { return Passes<T>(U.size * U.cols, U.rows); },
        [&](const Sample<T>& sample, auto&, Passes<T>& passes, Index t) {
            solved[t] = true;
            if (sample.count == 0) return fill(H[t], T(0));
            const bool few = few_entries(sample.count, U.rows);
            const T bend = few ? std::numeric_limits<T>::infinity() : static_cast<T>(threshold);
            solved[t] = HuberFit<T>(sample, bend, passes).minimise(longest_row, max_steps, H[t]);
        });
}

template <class Target, class T>
void PetrelsKernels<Target, T>::admm_codes(Samples<T> samples, Cube<const T> U, double threshold,
                                           const ADMMSettings& settings, Matrix<T> H,
                                           Vector<bool> solved) {
    const Index n = U.size * U.cols;
    struct Memory {
        Passes<T> passes;
        ADMM<T> admm;
        Buffer<T> r;
    };
    for_samples(
        samples, U,
        [&] { return Memory{Passes<T>(n, U.rows), ADMM<T>(n, U.rows, settings), Buffer<T>(n)}; },
        [&](const Sample<T>& sample, auto&, Memory& memory, Index t) {
            solved[t] = true;
            if (sample.count == 0) return fill(H[t], T(0));
            const double weight = static_cast<double>(static_cast<T>(threshold));
            solved[t] = memory.admm.minimise(sample, weight, memory.passes, H[t],
                                             memory.r.vector().first(sample.x.size));
        });
}

template <class Target, class T>
void PetrelsKernels<Target, T>::approximate_huber_codes(Matrix<const T> X, Cube<const T> U,
                                                        double threshold, double limit,
                                                        ApproximateFits<T> fits) {
    const Index n = U.size * U.cols;
    const BasisScale basis{basis_extent(U), X.cols};
    const Buffer<bool> all(X.cols);
    const Buffer<T> r(n);
    fill(all.vector(), true);
    ObservedEntries<T> entries(U);
    Passes<T> passes(n, U.rows);
    HuberSketch<T> sketch(U);
    for (Index t = 0; t < X.rows; ++t) {
        interruption_point();
        fill(fits.H[t], T(0));
        fits.close[t] =
            sketch.approach(entries.take(X[t], all.vector()), static_cast<T>(threshold),
                            static_cast<T>(limit), basis, passes, fits.H[t], r.vector());
        copy(r.vector().first(X.cols), fits.residuals[t]);
        copy(passes.equations.step, fits.steps[t]);
        for (Index k = 0; k < U.rows; ++k) copy(passes.equations.G[k], fits.grams[t][k]);
    }
}

template <class Target, class T>
void PetrelsKernels<Target, T>::codes_with_rejection(Samples<T> samples, Cube<const T> U,
                                                     double noise_scale, double prior_precision,
                                                     const RejectionSettings& settings,
                                                     RejectionCodes<T> codes) {
    const BasisScale basis{basis_extent(U), samples.X.cols};
    const NoiseScale noise{noise_scale, prior_precision};
    for_samples(
        samples, U, [&] { return Rejection<T>(U, settings); },
        [&](const Sample<T>& sample, const auto& entries, Rejection<T>& rejection, Index t) {
            codes.solved[t] = true;
            fill(codes.H[t], T(0));
            if (sample.count == 0) return fill(codes.R[t], T(0));
            codes.solved[t] = rejection.fit(sample, noise, basis).solved;
            entries.scatter_outliers(rejection.residuals(), rejection.kept(), codes.R[t]);
            copy(rejection.codes(), codes.H[t]);
        });
}

template <class Target, class T>
void PetrelsKernels<Target, T>::track_least_squares(Samples<T> samples, RowFactors<T> rows,
                                                    const RowUpdate& settings, Matrix<T> H,
                                                    Vector<double> error) {
    const Cube<const T> U = rows.U;
    const Index n = U.size * U.cols, K = U.rows;
    ObservedEntries<T> entries(U);
    Passes<T> passes(n, K);
    RowRecursion<T> recursion(rows, settings);
    const Buffer<T> residuals(n), values(n), marks(n), room(2 * quantile_entries);
    BasisScale basis{basis_extent(U), samples.X.cols};
    for (Index t = 0; t < samples.X.rows; ++t) {
        interruption_point();
        const Sample<T> sample = entries.take(samples.X[t], samples.observed[t]);
        error[t] = nan;
        if (sample.count == 0) {
            fill(H[t], T(0));
            continue;
        }
        const Vector<T> h = H[t], r = residuals.vector().first(sample.x.size);
        const Vector<const T> ones = passes.weight.first(r.size);
        fit_least_squares(sample, bounded_prior<T>(0.0, basis, sample.count, K), passes, h, r);
        if (sample.count > K) error[t] = quantiles<T>(r, sample.count, K, room.vector()).median;
        const CleanSample<T> clean{.w = h,
                                   .residual = entries.scatter(r, values.vector()),
                                   .clean = entries.scatter(ones, marks.vector()),
                                   .squares = Passes<T>::squares(r, ones),
                                   .typical_size = 0.0};
        const Extent moved = recursion.learn(clean);
        if (moved.longest > 0.0) basis.extent = moved;
    }
}

template <class Target, class T>
void PetrelsKernels<Target, T>::track_with_rejection(Samples<T> samples, RowFactors<T> rows,
                                                     RejectionStatistics& statistics,
                                                     const RowUpdate& row_update,
                                                     const RejectionSettings& settings,
                                                     RejectionTrack<T> track,
                                                     FeatureStatistics<T> features) {
    const Cube<const T> U = rows.U;
    const Index n = U.size * U.cols, K = U.rows;
    ObservedEntries<T> entries(U);
    Rejection<T> rejection(U, settings);
    RowRecursion<T> recursion(rows, row_update);
    const Buffer<T> values(n), marks(n);
    BasisScale basis{basis_extent(U), samples.X.cols};
    for (Index t = 0; t < samples.X.rows; ++t) {
        interruption_point();
        const Sample<T> sample = entries.take(samples.X[t], samples.observed[t]);
        track.error[t] = nan;
        if (sample.count == 0) {
            fill(track.H[t], T(0));
            fill(track.R[t], T(0));
            continue;
        }
        const bool warming_up = statistics.warming_up();
        NoiseScale noise{warming_up ? 0.0 : std::sqrt(statistics.variance), 0.0};
        if (noise.scale > 0.0 && statistics.code_size > 0.0)
            noise.prior = statistics.variance * static_cast<double>(K) / statistics.code_size;
        const RejectionFit fit = rejection.fit(sample, noise, basis);
        copy(rejection.codes(), track.H[t]);
        entries.scatter_outliers(rejection.residuals(), rejection.kept(), track.R[t]);
        if (sample.count <= K) continue;
        track.error[t] = fit.residuals.median;
        const double squares = rejection.kept_squares();
        if (warming_up)
            add_first_scale(statistics, fit);
        else
            update_variance(statistics, fit, squares, settings);
        if (!accept(statistics, fit, sample.count, K, settings.decay)) continue;
        const CleanSample<T> clean{
            .w = rejection.codes(),
            .residual = entries.scatter(rejection.residuals(), values.vector()),
            .clean = entries.scatter(rejection.kept(), marks.vector()),
            .squares = squares,
            .typical_size = statistics.code_size};
        if (fit.spare >= min_spare_per_code * K)
            add_sample<T>(features, samples.observed[t], clean, noise.scale);
        const Extent moved = recursion.learn(clean);
        if (moved.longest > 0.0) basis.extent = moved;
    }
}

template struct PetrelsKernels<Target, float>;
template struct PetrelsKernels<Target, double>;

}  // namespace thalweg
