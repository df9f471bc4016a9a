#include "kernels/robust_codes.hpp"

#include "kernels/alternation.hpp"
#include "support/buffer.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Entries of the residuals of a block, at most: they stay in the cache. benchmark: online_peers
constexpr Index block_entries = 32768;
/// Rows of a block: below, products are slow; above, nothing is gained. Fewer rows than these in
/// all are one block, for which no thread is started. benchmarks: online_peers, threads
constexpr Index min_block_rows = 16, max_block_rows = 32, single_block_rows = 48;

/// Rows of V for one task of the pool, an even number of tasks if there are several. It depends on
/// shapes only, so that results do not depend on the number of threads.
Index block_rows(Index n, Index F) {
    if (n <= single_block_rows) return single_block_rows;
    const Index most = block_entries / (F + 1);
    const Index rows = most < min_block_rows   ? min_block_rows
                       : most > max_block_rows ? max_block_rows
                                               : most;
    const Index pairs = (n + 2 * rows - 1) / (2 * rows);
    return (n + 2 * pairs - 1) / (2 * pairs);
}

/// Set Y = X'.
template <class T>
void transpose(Matrix<const T> X, Matrix<T> Y) {
    constexpr Index tile = 8;
    for (Index i = 0; i < X.rows; i += tile) {
        const Index end = i + tile < X.rows ? i + tile : X.rows;
        for (Index j = 0; j < X.cols; ++j)
            for (Index k = i; k < end; ++k) Y(j, k) = X(k, j);
    }
}

}  // namespace

template <class Target, class T>
void RobustCodeKernels<Target, T>::alternate_l1(const Problem& problem, Codes codes) {
    const Index F = problem.W.cols, K = problem.W.rows;
    const Buffer<T> columns(F, K);
    transpose<T>(problem.W, columns);
    parallel_blocks(problem.V.rows, block_rows(problem.V.rows, F), [&](Index begin, Index end) {
        Alternation<Target, T>(problem, codes, columns.matrix(), begin, end).run();
    });
}

template struct RobustCodeKernels<Target, float>;
template struct RobustCodeKernels<Target, double>;

}  // namespace thalweg
