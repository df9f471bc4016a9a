// The evidence of samples about their codes, for the filter of factor_chain.
#pragma once

#include <cmath>
#include <numbers>

#include "kernels/factor_chain.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"

namespace thalweg {
namespace {

/// Samples of one task of the pool.
constexpr Index samples_per_task = 64;

/// The evidence of each sample about its codes: W'R^-1 W, W'R^-1 y, part of the log-likelihood.
class Evidence {
   public:
    template <class T>
    Evidence(const FactorSeries<T>& series, const FactorParameters& p)
        : K_(p.loadings.cols),
          n_(series.Y.rows),
          precision_(n_ * K_ * K_),
          information_(n_, K_),
          constant_(n_) {
        parallel_blocks(n_, samples_per_task, [&](Index begin, Index end) {
            interruption_point();
            for (Index t = begin; t < end; ++t) collect(series.Y[t], series.weights[t], p, t);
        });
    }
    Matrix<double> precision(Index t) const {
        return {precision_.vector().data + t * K_ * K_, K_, K_};
    }
    Vector<double> information(Index t) const { return information_.matrix()[t]; }
    double constant(Index t) const { return constant_[t]; }

   private:
    template <class T>
    void collect(Vector<const T> y, Vector<const T> weights, const FactorParameters& p,
                 Index t) const {
        const Matrix<double> A = precision(t);
        const Vector<double> b = information(t);
        for (Index k = 0; k < K_; ++k) {
            b[k] = 0.0;
            for (Index j = 0; j < K_; ++j) A(k, j) = 0.0;
        }
        double constant = 0.0;
        for (Index f = 0; f < y.size; ++f) {
            const double weight = static_cast<double>(weights[f]);
            if (!(weight > 0.0)) continue;
            const double value = static_cast<double>(y[f]), q = weight / p.noise[f];
            constant += std::log(2.0 * std::numbers::pi / q) + q * value * value;
            const Vector<const double> w = p.loadings[f];
            for (Index k = 0; k < K_; ++k) {
                const double qw = q * w[k];
                b[k] += qw * value;
                for (Index j = 0; j <= k; ++j) A(k, j) += qw * w[j];
            }
        }
        for (Index k = 0; k < K_; ++k)
            for (Index j = 0; j < k; ++j) A(j, k) = A(k, j);
        constant_[t] = constant;
    }

    Index K_, n_;
    Buffer<double> precision_;
    Buffer<double> information_;
    Buffer<double> constant_;
};

}  // namespace
}  // namespace thalweg
