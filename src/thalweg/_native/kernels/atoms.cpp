#include "kernels/atoms.hpp"

#include <cmath>
#include <limits>

#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/products.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Atoms whose slopes come from one product of matrices. Inside of such a block, each slope is
/// corrected for the atoms that have moved before. benchmark: online_peers
constexpr Index atoms_per_block = 8;

template <class T>
class AtomDescent {
   public:
    AtomDescent(Matrix<const T> A, Matrix<const T> B, Matrix<T> W, T radius,
                Vector<const bool> free)
        : A_(A),
          B_(B),
          W_(W),
          radius_(radius),
          free_(free),
          later_(W.rows, W.rows),
          slopes_(atoms_per_block, W.cols),
          products_(atoms_per_block, W.cols) {
        for (Index k = 0; k < A.rows; ++k) {
            const Index first = k - k % atoms_per_block;
            for (Index j = 0; j < A.rows; ++j)
                later_.matrix()(k, j) = first <= j && j < k ? T(0) : A(k, j);
        }
    }

    /// Minimise over each row once; return the decrease. If asked for, `value` becomes the
    /// objective before.
    double sweep(double* value) {
        double decrease = 0.0;
        if (value != nullptr) *value = 0.0;
        for (Index first = 0; first < W_.rows; first += atoms_per_block) {
            interruption_point();
            const Index end = first + atoms_per_block;
            const Index last = end < W_.rows ? end : W_.rows;
            set_slopes(first, last, value);
            for (Index k = first; k < last; ++k) {
                const T scale = T(1) / A_(k, k);
                // Without a weight, or with one whose inverse overflows, 0 * inf would be NaN.
                if (!free_[k] || !(T(0) < scale && scale < std::numeric_limits<T>::infinity()))
                    continue;
                decrease += static_cast<double>(A_(k, k) * minimise(first, k, scale));
            }
        }
        return decrease;
    }

   private:
    /// Set the slopes of a block, up to the rows before in the block.
    void set_slopes(Index first, Index last, double* value) {
        const Index n = last - first;
        const Matrix<T> slopes = slopes_.matrix().rows_between(0, n);
        const Matrix<const T> later = later_.matrix().rows_between(first, last);
        for (Index i = 0; i < n; ++i) copy(B_[first + i], slopes[i]);
        if (value == nullptr) {
            product<T>(Into::subtract, later, W_, slopes);
            return;
        }
        // The rows from here on are those before the sweep: their products give the objective.
        const Matrix<T> products = products_.matrix().rows_between(0, n);
        product<T>(Into::set, later.cols_between(first, W_.rows), W_.rows_between(first, W_.rows),
                   products);
        for (Index i = 0; i < n; ++i)
            *value += static_cast<double>(take_off(first + i, products[i], slopes[i]));
        if (first > 0)
            product<T>(Into::subtract, later.cols_between(0, first), W_.rows_between(0, first),
                       slopes);
    }

    /// Set slope -= product; return the part of row k in the objective.
    T take_off(Index k, Vector<const T> product, Vector<T> slope) const {
        const Vector<const T> w = W_[k], b = B_[k];
        const T half = T(0.5) * A_(k, k);
        return sum<T>(w.size, [&](auto at) THALWEG_INLINE_BODY {
            at.store(slope, at(slope) - at(product));
            return at(w) * (at(product) - half * at(w) - at(b));
        });
    }

    /// Minimise over row k; return the decrease of the objective, divided by A[k, k].
    T minimise(Index first, Index k, T scale) const {
        const Vector<T> w = W_[k], slope = slopes_.matrix()[k - first];
        const T square = sum<T>(w.size, [&](auto at) THALWEG_INLINE_BODY {
            auto s = at(slope);
            for (Index j = first; j < k; ++j) s -= A_(k, j) * at(W_[j]);
            s *= scale;
            at.store(slope, s);
            const auto moved = larger(at.constant(T(0)), at(w) + s);
            return moved * moved;
        });
        const T shrink = square > T(0) ? smaller(T(1), radius_ / std::sqrt(square)) : T(1);
        return sum<T>(w.size, [&](auto at) THALWEG_INLINE_BODY {
            const auto moved = larger(at.constant(T(0)), at(w) + at(slope)) * shrink;
            const auto step = moved - at(w);
            at.store(w, moved);
            return step * (at(slope) - T(0.5) * step);
        });
    }

    Matrix<const T> A_, B_;
    Matrix<T> W_;
    T radius_;
    Vector<const bool> free_;
    Buffer<T> later_;     // A without the entries of rows before in the same block
    Buffer<T> slopes_;    // the negative gradient in the rows of a block, over A[k, k] at the end
    Buffer<T> products_;  // with the rows from the block on
};

}  // namespace

template <class Target, class T>
Descent AtomKernels<Target, T>::descend_atoms(Matrix<const T> A, Matrix<const T> B, Matrix<T> W,
                                              T radius, Vector<const bool> free,
                                              DescentSettings settings) {
    AtomDescent<T> descent(A, B, W, radius, free);
    Descent last{0.0, 0.0, false};
    for (Index sweep = 0; sweep < settings.max_sweeps && !last.converged; ++sweep) {
        last.value -= last.decrease;
        last.decrease = descent.sweep(sweep == 0 ? &last.value : nullptr);
        last.converged =
            last.value < std::numeric_limits<double>::infinity() &&
            std::fabs(last.decrease) <= settings.tol * std::fabs(last.value + settings.constant);
    }
    return last;
}

template struct AtomKernels<Target, float>;
template struct AtomKernels<Target, double>;

}  // namespace thalweg
