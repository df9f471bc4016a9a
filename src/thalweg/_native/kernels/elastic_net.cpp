#include "kernels/elastic_net.hpp"

#include <limits>

#include "kernels/combination.hpp"
#include "kernels/projection.hpp"
#include "support/blas.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Return <W, slope/2 - B>.
template <class T>
double quadratic_value(Matrix<const T> W, Matrix<const T> slope, Matrix<const T> B) {
    double value = 0.0;
    for (Index k = 0; k < W.rows; ++k) {
        const Vector<const T> w = W[k], s = slope[k], b = B[k];
        value += double_sums<T, 1>(W.cols, [&](auto at, auto* sums) {
            sums[0] += widened(at(w)) * (0.5 * widened(at(s)) - widened(at(b)));
        })[0];
    }
    return value;
}

/// Working memory of a sweep: the gradient of a row but for its sign, the row before, and terms.
template <class T>
struct RowWork {
    Buffer<T> descent, old, factors;
    Buffer<Index> rows;

    RowWork(Index K, Index F) : descent(F), old(F), factors(K), rows(K) {}
};

/// Minimise over row k of W with curvature 1 / scale; return the decrease of the objective.
template <class T>
double minimise_row(Matrix<const T> A, Vector<const T> b, Matrix<T> W, Index k,
                    const ElasticNetSet& set, const RowWork<T>& work) {
    const Vector<T> w = W[k], descent = work.descent, old = work.old;
    const T scale = T(1) / A(k, k);
    Terms<T> terms{work.factors, work.rows};
    for (Index j = 0; j < W.rows; ++j) terms.append(A(k, j), j);
    combine<T>(terms, W, descent);
    for_each<T>(w.size, [&](auto at) {
        const auto before = at(w), direction = at(b) - at(descent);
        at.store(descent, direction);
        at.store(old, before);
        at.store(w, before + scale * direction);
    });
    project_onto(w, set);
    const double curvature = static_cast<double>(A(k, k));
    return double_sums<T, 1>(w.size, [&](auto at, auto* sums) {
        const auto step = widened(at(w)) - widened(at(old));
        sums[0] += step * (widened(at(descent)) - 0.5 * curvature * step);
    })[0];
}

}  // namespace

template <class Target, class T>
void ElasticNetKernels<Target, T>::project(Vector<T> x, const ElasticNetSet& set) {
    project_onto(x, set);
}

template <class Target, class T>
SweepResult ElasticNetKernels<Target, T>::sweep(Matrix<const T> A, Matrix<const T> B, Matrix<T> W,
                                                const ElasticNetSet& set, Vector<const bool> free) {
    const Index K = W.rows, F = W.cols;
    const Buffer<T> slope(K, F);
    multiply<T>(A, W, slope);
    SweepResult result{quadratic_value<T>(W, slope.matrix(), B), 0.0};
    const RowWork<T> work(K, F);
    for (Index k = 0; k < K; ++k) {
        interruption_point();
        const T scale = T(1) / A(k, k);
        // No weight, or one so small that its inverse is inf, and inf times zero NaN.
        if (!free[k] || !(scale > T(0) && scale <= std::numeric_limits<T>::max())) continue;
        result.decrease += minimise_row<T>(A, B[k], W, k, set, work);
    }
    return result;
}

template struct ElasticNetKernels<Target, float>;
template struct ElasticNetKernels<Target, double>;

}  // namespace thalweg
