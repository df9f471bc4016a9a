#include "kernels/robust_regression.hpp"

#include "kernels/robust_fit.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Entries of the samples of one task, times basis vectors: about 0.1 ms of work.
constexpr Index task_products = 1 << 15;

Index samples_per_task(Index F, Index K) {
    const Index size = task_products / (F * K + 1);
    return size > 1 ? size : 1;
}

}  // namespace

template <class Target, class T>
void RobustRegressionKernels<Target, T>::robust_codes(Matrix<const T> U, Matrix<const T> V,
                                                      Matrix<const bool> observed,
                                                      const RegressionProblem& problem, Matrix<T> H,
                                                      Vector<bool> solved) {
    const PaddedBasis<T> basis(U);
    parallel_blocks(V.rows, samples_per_task(U.cols, U.rows), [&](Index begin, Index end) {
        SamplePacker<T> packer(U.rows, U.cols);
        RobustFit<T> fit(U.rows, U.cols);
        bool was_complete = false;
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            fill(H[s], T(0));
            solved[s] = true;
            const PackedSample<T> sample = packer.pack(basis.matrix(), V[s], observed[s]);
            if (sample.count == 0) continue;
            solved[s] = fit.robust(sample, problem, sample.complete && was_complete);
            was_complete = sample.complete;
            copy(fit.codes(), H[s]);
        }
    });
}

template struct RobustRegressionKernels<Target, float>;
template struct RobustRegressionKernels<Target, double>;

}  // namespace thalweg
