#include "kernels/robust_codes.hpp"

#include "kernels/alternation.hpp"
#include "support/buffer.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Multiplications in a product of a block with W, at most: OpenBLAS has faster kernels for
/// products of up to 10^6, and the block stays in the cache. benchmark: online_peers
constexpr Index block_products = 1000000;
/// Rows of a block: below, products are slow; above, nothing is gained. benchmark: online_peers
constexpr Index min_block_rows = 16, max_block_rows = 64;

/// Rows of V for one task of the pool: depends on shapes only, so that results do not depend on
/// the number of threads.
Index block_rows(Index F, Index K) {
    const Index rows = block_products / (F * K + 1);
    return rows < min_block_rows ? min_block_rows : rows > max_block_rows ? max_block_rows : rows;
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
    parallel_blocks(problem.V.rows, block_rows(F, K), [&](Index begin, Index end) {
        Alternation<Target, T>(problem, codes, columns.matrix(), begin, end).run();
    });
}

template struct RobustCodeKernels<Target, float>;
template struct RobustCodeKernels<Target, double>;

}  // namespace thalweg
