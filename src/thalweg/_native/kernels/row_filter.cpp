#include "kernels/row_filter.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/code_update.hpp"
#include "kernels/transitions.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Rounds of reweighting of the entries of a row.
constexpr int weight_rounds = 3;

/// Return min(1, (threshold / residual)^4) for a squared residual.
inline double weight_of(double square, double threshold) {
    const double ratio = threshold * threshold / std::max(square, 1e-300);
    return ratio < 1.0 ? ratio * ratio : 1.0;
}

/// The codes of the present row.
class RowCodes {
   public:
    RowCodes(const FactorParameters& p, const RowMoments& moments)
        : K_(p.phi.size),
          p_(p),
          now_(moments),
          update_(K_),
          A_(K_, K_),
          L_(K_, K_),
          before_(K_, K_),
          b_(K_),
          mean_(K_),
          weights_(p.noise.size) {}

    /// Move the moments by a step.
    void predict(double step) const {
        for (Index k = 0; k < K_; ++k) {
            const Transition to = transition(p_.phi[k], step);
            now_.code_mean[k] *= to.a;
            for (Index j = 0; j < K_; ++j) {
                now_.code_covariance(k, j) *= to.a;
                now_.code_covariance(j, k) *= to.a;
            }
            now_.code_covariance(k, k) += to.noise;
        }
    }

    /// Update the moments with the entries of a row that have a weight.
    void update(Vector<const double> y, Vector<const double> observed, double threshold) {
        for (Index f = 0; f < y.size; ++f) weights_[f] = observed[f];
        keep(now_.code_mean, now_.code_covariance, mean_.vector(), before_.matrix());
        for (int i = 0; i < weight_rounds; ++i) {
            collect(y);
            keep(mean_.vector(), before_.matrix(), now_.code_mean, now_.code_covariance);
            update_({A_.matrix(), b_.vector()}, now_.code_mean, now_.code_covariance, L_.matrix());
            if (i + 1 == weight_rounds || !reweigh(y, observed, threshold)) return;
        }
    }

    /// Return w'm and w'P w of a feature.
    double mean(Index f) const {
        double sum = 0.0;
        for (Index k = 0; k < K_; ++k) sum += p_.loadings(f, k) * now_.code_mean[k];
        return sum;
    }
    double variance(Index f) const {
        double sum = 0.0;
        for (Index k = 0; k < K_; ++k)
            for (Index j = 0; j < K_; ++j)
                sum += p_.loadings(f, k) * now_.code_covariance(k, j) * p_.loadings(f, j);
        return sum;
    }

   private:
    static void keep(Vector<const double> m, Matrix<const double> P, Vector<double> to_m,
                     Matrix<double> to_P) {
        for (Index k = 0; k < m.size; ++k) {
            to_m[k] = m[k];
            for (Index j = 0; j < m.size; ++j) to_P(k, j) = P(k, j);
        }
    }

    void collect(Vector<const double> y) {
        b_.zero();
        A_.zero();
        for (Index f = 0; f < y.size; ++f) {
            if (!(weights_[f] > 0.0)) continue;
            const Vector<const double> w = p_.loadings[f];
            const double q = weights_[f] / p_.noise[f], qy = q * y[f];
            for (Index k = 0; k < K_; ++k) {
                b_[k] += qy * w[k];
                for (Index j = 0; j < K_; ++j) A_.matrix()(k, j) += q * w[k] * w[j];
            }
        }
    }

    /// Set weights by the residuals from the other entries; return whether any has changed.
    bool reweigh(Vector<const double> y, Vector<const double> observed, double threshold) const {
        bool changed = false;
        for (Index f = 0; f < y.size; ++f) {
            const double given = observed[f];
            if (!(given > 0.0)) continue;
            const double spread = variance(f), noise = p_.noise[f];
            const double kept = std::max(1.0 - weights_[f] * spread / noise, 1e-6);
            const double residual = (y[f] - mean(f)) / kept;
            const double square = residual * residual / (spread / kept + noise);
            const double weight = given * weight_of(square, threshold);
            changed |= weight != weights_[f];
            weights_[f] = weight;
        }
        return changed;
    }

    Index K_;
    FactorParameters p_;
    RowMoments now_;
    CodeUpdate update_;
    Buffer<double> A_, L_, before_, b_, mean_, weights_;
};

/// The scalar process of one feature, moved by a step and updated by a residual of the codes.
struct LocalMoment {
    double mean, variance;

    void predict(const Transition& to, double size) {
        mean *= to.a;
        variance = to.a * to.a * variance + to.noise * size;
    }
    void update(double y, double noise, double weight, double threshold) {
        const double innovation = y - mean;
        const double square = innovation * innovation / (variance + noise);
        const double gain = variance / (variance + noise / (weight * weight_of(square, threshold)));
        mean += gain * innovation;
        variance *= 1.0 - gain;
    }
};

}  // namespace

template <class Target>
void RowFilter<Target>::filter(const FactorSeries<double>& rows, const FactorParameters& factors,
                               const LocalParameters& local, double threshold,
                               const RowMoments& moments, const FilteredRows& found) {
    RowCodes codes(factors, moments);
    for (Index t = 0; t < rows.Y.rows; ++t) {
        interruption_point();
        const Vector<const double> y = rows.Y[t], weights = rows.weights[t];
        codes.predict(rows.steps[t]);
        if (factors.phi.size > 0) codes.update(y, weights, threshold);
        for (Index f = 0; f < y.size; ++f) {
            const double low_rank = codes.mean(f), weight = weights[f];
            LocalMoment own{moments.local_mean[f], moments.local_variance[f]};
            own.predict(transition(local.phi[f], rows.steps[t]), local.variance[f]);
            if (weight > 0.0) own.update(y[f] - low_rank, local.noise[f], weight, threshold);
            moments.local_mean[f] = own.mean;
            moments.local_variance[f] = own.variance;
            found.low_rank(t, f) = low_rank;
            found.deviation(t, f) = own.mean;
            found.variance(t, f) = codes.variance(f) + own.variance;
        }
    }
}

template struct RowFilter<Target>;

}  // namespace thalweg
