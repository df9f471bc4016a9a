#include "kernels/envelope.hpp"

#include "kernels/soft_threshold.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Entries for one task of the pool: about 50 microseconds of work.
constexpr Index entries_per_task = 1 << 16;

}  // namespace

template <class Target, class T>
void EnvelopeKernels<Target, T>::envelope_l1(Matrix<const T> Z, L1Penalty penalty, Matrix<T> E,
                                             Vector<T> values) {
    const Index rows_per_task = 1 + entries_per_task / (1 + Z.cols);
    parallel_blocks(Z.rows, rows_per_task, [&](Index begin, Index end) {
        const Buffer<T> outliers(Z.cols);
        const T weight = static_cast<T>(penalty.weight);
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            const Vector<const T> z = Z[s];
            const SplitSums<T> sums =
                split_l1<T>([&](auto at) THALWEG_INLINE_BODY { return at(z); }, weight, penalty,
                            E[s], outliers);
            values[s] = sums.half_square + weight * sums.modulus;
        }
    });
}

template struct EnvelopeKernels<Target, float>;
template struct EnvelopeKernels<Target, double>;

}  // namespace thalweg
