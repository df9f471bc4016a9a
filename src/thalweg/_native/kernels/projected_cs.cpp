#include "kernels/projected_cs.hpp"

#include "kernels/least_l1.hpp"
#include "kernels/median_modulus.hpp"
#include "support/constants.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// The noise scale is not taken for less than this share of the root mean square of a sample.
constexpr double noise_floor = 1e-7;
// Rounds in which the noise scale is found from a single sample.
constexpr int noise_rounds = 3;
// Samples of one task: one takes about 0.1 ms.
constexpr Index samples_per_task = 4;

/// Return the mean of the noise scales after a sample, which a few failed samples hardly change.
void add_scale(NoiseAverage& noise, double scale, double memory) {
    noise.n_samples = memory < noise.n_samples + 1.0 ? memory : noise.n_samples + 1.0;
    noise.scale = noise.scale == 0.0
                      ? scale
                      : noise.scale * std::pow(scale / noise.scale, 1.0 / noise.n_samples);
}

/// Recovery of samples one after the other, with memory for one.
class Recovery {
   public:
    Recovery(Matrix<const double> basis, Index n_features, const SparseRecovery& what)
        : P(basis),
          problem(what),
          packer(P.rows, n_features),
          least_l1(P.rows, n_features),
          median_modulus(n_features) {}

    /// Separate a sample; return its own noise scale, NaN if it has no more entries than codes.
    double separate(Vector<const double> v, Vector<const bool> observed, double noise_scale,
                    Vector<double> h, Vector<double> r) {
        fill(h, 0.0);
        fill(r, 0.0);
        const PackedSample<double> sample = packer.pack(P, v, observed);
        if (sample.count == 0) return std::numeric_limits<double>::quiet_NaN();
        const double scale = separate_rounds(sample, noise_scale, h);
        const Vector<double> e = least_l1.residual(sample), clean = least_l1.weight(sample);
        for (Index i = 0; i < sample.count; ++i)
            if (clean[i] == 0.0) r[packer.place(i)] = e[i];
        return sample.count > P.rows ? scale : std::numeric_limits<double>::quiet_NaN();
    }

   private:
    /// Separate a sample at a noise scale, found from itself if 0; return its own scale.
    double separate_rounds(const PackedSample<double>& sample, double scale, Vector<double> h) {
        const double count = static_cast<double>(sample.count);
        const double floor = noise_floor * std::sqrt(dot(sample.v, sample.v) / count);
        int rounds = 1;
        if (scale == 0.0) {
            least_l1.solve(sample, std::numeric_limits<double>::infinity(), h);
            scale = own_scale(sample);
            rounds = noise_rounds;
        }
        for (int i = 0; i < rounds; ++i) {
            const double unit = floor > scale ? floor : scale;
            double bound = problem.noise_bound, threshold = problem.support_threshold;
            if (!problem.noise_bound_in_data_units) bound *= unit * std::sqrt(count);
            if (!problem.support_threshold_in_data_units) threshold *= unit;
            separate_once(sample, bound, threshold, h);
            scale = own_scale(sample);
        }
        return scale;
    }

    /// Find the outliers beyond the threshold, and fit the clean entries.
    ///
    /// With no more clean entries than codes anything would fit: the codes stay as they are.
    void separate_once(const PackedSample<double>& sample, double bound, double threshold,
                       Vector<double> h) {
        const double limit = least_l1.solve(sample, bound, h);
        const Vector<double> e = least_l1.residual(sample), clean = least_l1.weight(sample);
        Index n_clean = 0;
        for (Index i = 0; i < sample.count; ++i) {
            const bool kept = std::fabs(e[i]) - limit <= threshold;
            clean[i] = kept ? 1.0 : 0.0;
            n_clean += kept ? 1 : 0;
        }
        if (n_clean > h.size) least_l1.refit(sample, h);
    }

    /// Return the standard deviation of normal noise with the median modulus of the residual.
    double own_scale(const PackedSample<double>& sample) const {
        return mad_to_standard_deviation *
               median_modulus(least_l1.residual(sample).first(sample.count));
    }

    Matrix<const double> P;
    SparseRecovery problem;
    SamplePacker<double> packer;
    LeastL1 least_l1;
    MedianModulus<double> median_modulus;
};

}  // namespace

template <class Target>
double ProjectedCsKernels<Target>::least_l1_outliers(Vector<const double> v, Matrix<const double> A,
                                                     double bound, Vector<double> h,
                                                     Vector<double> e) {
    const PaddedBasis<double> basis(A);
    const Buffer<double> padded_sample(basis.matrix().cols);
    copy_padded(v, padded_sample.vector());
    const PackedSample<double> sample{basis.matrix(), padded_sample.vector(), v.size, true};
    LeastL1 least_l1(A.rows, v.size);
    const double limit = least_l1.solve(sample, bound, h);
    copy(least_l1.residual(sample).first(e.size), e);
    return limit;
}

template <class Target>
void ProjectedCsKernels<Target>::recover_sparse(Matrix<const double> V, Matrix<const bool> observed,
                                                Matrix<const double> P,
                                                const SparseRecovery& problem, double memory,
                                                NoiseAverage& noise, RecoveredSamples found) {
    const PaddedBasis<double> basis(P);
    const bool independent = !(memory > 0.0);
    const auto recover = [&](Index begin, Index end) {
        Recovery recovery(basis.matrix(), P.cols, problem);
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            const double scale =
                recovery.separate(V[s], observed[s], noise.scale, found.H[s], found.R[s]);
            found.error[s] = scale / mad_to_standard_deviation;
            if (!independent && scale > 0.0) add_scale(noise, scale, memory);
        }
    };
    if (independent)
        parallel_blocks(V.rows, samples_per_task, recover);
    else
        recover(0, V.rows);
}

template struct ProjectedCsKernels<Target>;

}  // namespace thalweg
