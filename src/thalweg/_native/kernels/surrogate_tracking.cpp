#include "kernels/surrogate_tracking.hpp"

#include "kernels/median_modulus.hpp"
#include "kernels/robust_fit.hpp"
#include "kernels/rotation.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// The basis and its surrogate, of one call.
template <class T>
class Surrogate {
   public:
    Surrogate(Matrix<T> basis, Index n_features, const SurrogateStep& rule, SurrogateSums<T> parts)
        : U(basis),
          F(n_features),
          step(rule),
          sums(parts),
          clean(U.cols),
          coefficients(U.rows, U.rows),
          inverses(U.rows) {}

    /// Add a sample to the sums, whose outliers are r, and which is U'h at missing entries.
    void add_sample(const RobustFit<T>& fit, Vector<const T> v, Vector<const T> r,
                    Vector<const bool> observed) {
        const Vector<double> h = fit.codes();
        combine<T>(U, fit.rounded(), clean);
        for (Index i = 0; i < F; ++i)
            if (observed[i]) clean[i] = v[i] - r[i];
        const T keep = static_cast<T>(step.forgetting);
        const Vector<T> x = clean.vector().first(F);
        for (Index k = 0; k < h.size; ++k) {
            for (Index j = 0; j < h.size; ++j)
                sums.A(k, j) = step.forgetting * sums.A(k, j) + h[k] * h[j];
            const T factor = fit.rounded()[k];
            const Vector<T> b = sums.B[k];
            for_each<T>(F, [&](auto at) { at.store(b, keep * at(b) + factor * at(x)); });
        }
    }

    /// Minimise <U U', A + ridge I> / 2 - <U, B> over one row of U after the other.
    void sweep(double ridge) {
        const Index K = U.rows;
        for (Index k = 0; k < K; ++k) {
            inverses[k] = static_cast<T>(1.0 / (sums.A(k, k) + ridge));
            for (Index j = 0; j < K; ++j)
                coefficients.matrix()(k, j) = static_cast<T>(sums.A(k, j));
        }
        for_each<T>(F, [&](auto at) {
            for (Index i = 0; i < step.sweeps; ++i)
                for (Index k = 0; k < K; ++k)
                    // A vector that no sample has used is left as it is.
                    if (sums.A(k, k) > 0.0) at.store(U[k], at_minimum(k, at));
        });
    }

   private:
    /// Return the minimum over row k of U at some features.
    template <class Value>
    THALWEG_INLINE Value at_minimum(Index k, Place<Value> at) const {
        const Vector<T> factors = coefficients.matrix()[k];
        Value x = at(sums.B[k]);
        for (Index j = 0; j < k; ++j) x = x - factors[j] * at(U[j]);
        for (Index j = k + 1; j < U.rows; ++j) x = x - factors[j] * at(U[j]);
        return x * inverses[k];
    }

    Matrix<T> U;
    Index F;
    SurrogateStep step;
    SurrogateSums<T> sums;
    Buffer<T> clean;
    Buffer<T> coefficients;
    Buffer<T> inverses;
};

/// Count the norm of a sample in the running mean.
template <class T>
void add_norm(const PackedSample<T>& sample, const MedianModulus<T>& median_modulus, Index F,
              SampleNorm& norm) {
    double size = median_modulus(sample.v.first(sample.count));
    if (!(size > 0.0)) size = mean_modulus<T>(sample.v, sample.count);
    norm.n_samples += 1.0;
    norm.mean = running_mean(norm.mean, norm.n_samples, std::sqrt(static_cast<double>(F)) * size);
}

}  // namespace

template <class Target, class T>
void SurrogateTrackingKernels<Target, T>::track_surrogate(Matrix<T> U, Matrix<const T> V,
                                                          Matrix<const bool> observed,
                                                          const SurrogateStep& step,
                                                          const RegressionProblem& problem,
                                                          SurrogateSums<T> sums, SampleNorm& norm,
                                                          TrackedSamples<T> found) {
    const PaddedBasis<T> basis{Matrix<const T>(U)};
    const Index K = U.rows, F = U.cols;
    SamplePacker<T> packer(K, F);
    RobustFit<T> fit(K, F);
    Surrogate<T> surrogate(basis, F, step, sums);
    const MedianModulus<T> median_modulus(F);
    for (Index s = 0; s < V.rows; ++s) {
        interruption_point();
        fill(found.H[s], T(0));
        fill(found.R[s], T(0));
        found.error[s] = std::numeric_limits<double>::quiet_NaN();
        const PackedSample<T> sample = packer.pack(basis.matrix(), V[s], observed[s]);
        if (sample.count == 0) continue;
        add_norm(sample, median_modulus, F, norm);
        RegressionProblem scaled = problem;
        scaled.outlier_weight = problem.outlier_weight * norm.mean;
        fit.robust(sample, scaled);
        copy(fit.codes(), found.H[s]);
        const Vector<T> r = fit.residual(sample);
        if (sample.count > K) found.error[s] = median_modulus(r.first(sample.count));
        const T bound = static_cast<T>(scaled.outlier_weight);
        for_each_pack<T>(r.size, [&](auto at) { at.store(r, at(r) - clipped<T>(at(r), bound)); });
        packer.unpack(sample, r, found.R[s]);
        surrogate.add_sample(fit, V[s], found.R[s], observed[s]);
        surrogate.sweep(problem.ridge * norm.mean * norm.mean);
    }
    basis.write(U);
}

template struct SurrogateTrackingKernels<Target, float>;
template struct SurrogateTrackingKernels<Target, double>;

}  // namespace thalweg
