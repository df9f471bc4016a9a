#include "kernels/supports.hpp"

#include "kernels/combination.hpp"
#include "kernels/double_sums.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Entries of H that are worked on together: they stay in the first cache.
constexpr Index entries_per_block = 2048;
// Columns of one task of the pool: some 50 to 100 microseconds for ten rows.
constexpr Index columns_per_task = 2048;

/// A few columns of H, and their sweeps.
template <class T>
class ColumnBlock {
   public:
    ColumnBlock(Matrix<const T> Q, Matrix<const T> P, Matrix<T> H)
        : Q_(Q),
          P_(P),
          H_(H),
          columns_(64 + entries_per_block / (H.rows + 1) / 64 * 64),
          stride_(row_stride<T>(columns_)),
          block_(H.rows * stride_) {}

    /// Sweep the columns begin, ..., end - 1.
    void sweep_all(Index begin, Index end, Index sweeps) {
        for (; begin < end; begin += columns_) {
            interruption_point();
            sweep(begin, begin + columns_ < end ? begin + columns_ : end, sweeps);
        }
    }

   private:
    void sweep(Index begin, Index end, Index sweeps) {
        // Rows of H may be a power of two apart, and would share a few places of the cache.
        const Matrix<T> h(block_.vector().data, H_.rows, end - begin, stride_);
        for (Index k = 0; k < H_.rows; ++k) copy(H_[k].slice(begin, end), h[k]);
        for (Index sweep = 0; sweep < sweeps; ++sweep)
            for (Index k = 0; k < H_.rows; ++k)
                if (Q_(k, k) > T(0))  // else nothing depends on the row
                    minimise_row(k, P_[k].slice(begin, end), h);
        for (Index k = 0; k < H_.rows; ++k) copy(h[k], H_[k].slice(begin, end));
    }

    void minimise_row(Index k, Vector<const T> p, Matrix<T> h) const {
        const Vector<const T> q = Q_[k];
        const Vector<T> row = h[k];
        const T scale = T(1) / q[k];
        for_each<T>(row.size, [&](auto at) {
            auto target = at(p);
            for (Index i = 0; i < k; ++i) target -= q[i] * at(h[i]);
            for (Index i = k + 1; i < h.rows; ++i) target -= q[i] * at(h[i]);
            const auto zero = spread(T(0), target);
            at.store(row, where_above(at(row), zero, larger(zero, target * scale), zero));
        });
    }

    Matrix<const T> Q_, P_;
    Matrix<T> H_;
    Index columns_, stride_;
    Buffer<T> block_;
};

}  // namespace

template <class Target, class T>
void SupportKernels<Target, T>::sweep_supports(Matrix<const T> Q, Matrix<const T> P, Matrix<T> H,
                                               Index sweeps) {
    parallel_blocks(H.cols, columns_per_task, [&](Index begin, Index end) {
        ColumnBlock<T>(Q, P, H).sweep_all(begin, end, sweeps);
    });
}

template struct SupportKernels<Target, float>;
template struct SupportKernels<Target, double>;

}  // namespace thalweg
