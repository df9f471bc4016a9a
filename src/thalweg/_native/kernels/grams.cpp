#include "kernels/grams.hpp"

#include "kernels/definite_inverse.hpp"
#include "kernels/flags.hpp"
#include "support/blas.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Multiplications for one task of the pool: about 100 microseconds.
constexpr Index products_per_task = 1 << 21;

Index samples_per_task(Index products) { return 1 + products_per_task / (1 + products); }

/// Set gram to that of the rows of W whose flag is as wanted.
template <class T>
void gram_of(Matrix<const T> W, Vector<const bool> flags, bool wanted, Matrix<T> rows,
             Matrix<T> gram) {
    Index n = 0;
    for (Index i = 0; i < flags.size; ++i)
        if (flags[i] == wanted) copy(W[i], rows[n++]);
    const Matrix<const T> some = rows.rows_between(0, n);
    if (n == 0)
        fill(gram, T(0));
    else
        multiply_transposed<T>(some, some, gram);
}

/// Set gram = whole - gram; false if a diagonal entry keeps too little of itself.
template <class T>
bool subtract_from(Matrix<const T> whole, T min_share, Matrix<T> gram) {
    bool accurate = true;
    for (Index k = 0; k < whole.rows; ++k) {
        const Vector<const T> all = whole[k];
        const Vector<T> row = gram[k];
        accurate &= !(all[k] - row[k] < min_share * all[k]);
        for_each<T>(row.size,
                    [&](auto at) THALWEG_INLINE_BODY { at.store(row, at(all) - at(row)); });
    }
    return accurate;
}

}  // namespace

template <class Target, class T>
void GramKernels<Target, T>::subset_grams(Matrix<const T> W, Matrix<const bool> selected,
                                          Matrix<const T> whole, T min_share, Cube<T> grams) {
    const Index per_task = samples_per_task(W.rows * W.cols * W.cols / 4);
    parallel_blocks(selected.rows, per_task, [&](Index begin, Index end) {
        const Buffer<T> rows(W.rows, W.cols);
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            const Vector<const bool> flags = selected[s];
            if (2 * count(flags) > flags.size) {
                gram_of<T>(W, flags, false, rows, grams[s]);
                if (subtract_from<T>(whole, min_share, grams[s])) continue;
            }
            gram_of<T>(W, flags, true, rows, grams[s]);
        }
    });
}

template <class Target, class T>
void GramKernels<Target, T>::definite_inverses(Cube<const T> grams, T max_condition,
                                               Cube<T> inverses, Vector<bool> trusted) {
    const Index per_task = samples_per_task(grams.rows * grams.rows * grams.rows);
    parallel_blocks(grams.size, per_task, [&](Index begin, Index end) {
        const Buffer<T> root(grams.rows, grams.rows);
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            for (Index k = 0; k < grams.rows; ++k) copy(grams[s][k], root.matrix()[k]);
            trusted[s] = inverse_root<T>(root);
            if (!trusted[s]) continue;
            multiply_transposed<T>(root.matrix(), root.matrix(), inverses[s]);
            trusted[s] = frobenius_norm(grams[s]) * frobenius_norm<T>(inverses[s]) < max_condition;
        }
    });
}

template struct GramKernels<Target, double>;

}  // namespace thalweg
