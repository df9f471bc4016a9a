#include "kernels/sample_means.hpp"

#include "support/buffer.hpp"
#include "support/pool.hpp"
#include "support/products.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Samples at a time, whose entries in the features of a task stay in the cache.
constexpr Index block_samples = 64;
/// Features of a task, at least, and products, about: a thread is not worth less.
/// benchmark: threads
constexpr Index min_task_features = 64, task_products = Index(1) << 20;

/// Features for one task of the pool; it depends on shapes only.
Index task_features(Index products) {
    const Index features = task_products / (products + 1) + 1;
    return (features + min_task_features - 1) / min_task_features * min_task_features;
}

/// Set Y = X'.
template <class T>
void transpose(Matrix<const T> X, Matrix<T> Y) {
    for (Index i = 0; i < X.rows; ++i)
        for (Index j = 0; j < X.cols; ++j) Y(j, i) = X(i, j);
}

/// Set Y = factor X.
template <class T>
void scale(T factor, Matrix<const T> X, Matrix<T> Y) {
    for (Index i = 0; i < X.rows; ++i) {
        const Vector<const T> x = X[i];
        for_each<T>(x.size, [&](auto at) THALWEG_INLINE_BODY { at.store(Y[i], factor * at(x)); });
    }
}

/// Set the rows of `clean` to those of V - R; return the sum of their squares.
template <class T>
double subtract(Matrix<const T> V, Matrix<const T> R, Matrix<T> clean) {
    double squares = 0.0;
    for (Index s = 0; s < V.rows; ++s) {
        const Vector<const T> v = V[s], r = R[s];
        const Vector<T> row = clean[s];
        squares += static_cast<double>(sum<T>(v.size, [&](auto at) THALWEG_INLINE_BODY {
            const auto entry = at(v) - at(r);
            at.store(row, entry);
            return entry * entry;
        }));
    }
    return squares;
}

/// Add H (V - R) to B; return the sum of the squares of V - R.
template <class T>
double add_products(Matrix<const T> H, Matrix<const T> V, Matrix<const T> R, Matrix<T> B) {
    const Buffer<T> clean(block_samples, V.cols);
    double squares = 0.0;
    for (Index first = 0; first < V.rows; first += block_samples) {
        const Index last = first + block_samples < V.rows ? first + block_samples : V.rows;
        Matrix<const T> rows = V.rows_between(first, last);
        if (R.rows > 0) {
            const Matrix<T> some = clean.matrix().rows_between(0, last - first);
            squares += subtract<T>(rows, R.rows_between(first, last), some);
            rows = some;
        } else {
            for (Index s = 0; s < rows.rows; ++s)
                squares += static_cast<double>(dot(rows[s], rows[s]));
        }
        product<T>(Into::add, H.cols_between(first, last), rows, B);
    }
    return squares;
}

}  // namespace

template <class Target, class T>
double SampleMeanKernels<Target, T>::add_samples(const Samples& samples, double share,
                                                 Means<const T> before, Means<T> after) {
    const auto& [V, R, H] = samples;
    const Index n = V.rows, F = V.cols, K = H.cols;
    const T kept = static_cast<T>(1.0 - share);
    const T own = static_cast<T>(share / static_cast<double>(n));
    const Buffer<T> codes(K, n), squared(K, K);
    transpose<T>(H, codes);
    product<T>(Into::set, codes.matrix(), H, squared);  // exactly symmetric
    for (Index i = 0; i < K * K; ++i) after.A.data[i] = kept * before.A.data[i] + own * squared[i];
    scale<T>(own, codes.matrix(), codes);
    const Index per_task = task_features(n * K);
    const Buffer<double> squares(F / per_task + 1);
    const auto outliers = [&](Index begin, Index end) {
        return R.rows > 0 ? R.cols_between(begin, end) : R;
    };
    parallel_blocks(F, per_task, [&](Index begin, Index end) {
        const Matrix<T> B = after.B.cols_between(begin, end);
        scale<T>(kept, before.B.cols_between(begin, end), B);
        squares[begin / per_task] =
            add_products<T>(codes.matrix(), V.cols_between(begin, end), outliers(begin, end), B);
    });
    double total = 0.0;
    for (Index i = 0; i < (F + per_task - 1) / per_task; ++i) total += squares[i];
    return total / static_cast<double>(n);
}

template struct SampleMeanKernels<Target, float>;
template struct SampleMeanKernels<Target, double>;

}  // namespace thalweg
