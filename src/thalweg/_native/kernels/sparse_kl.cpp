#include "kernels/sparse_kl.hpp"

#include <cmath>
#include <cstdint>

#include "kernels/combination.hpp"
#include "kernels/double_sums.hpp"
#include "kernels/padding.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Samples of one task of the pool: some 100 microseconds.
constexpr Index samples_per_task = 16;
// Stored entries of one task of the pool: some 50 to 100 microseconds.
constexpr Index products_per_task = 16384;
// Entries of atoms that stay in the first cache between two products.
constexpr Index cached_atoms = 2048;
// The divergence is first looked at when the gap is below this many tolerances of the counts.
constexpr double near_tolerance = 4.0;

/// The positive counts of a sample, with the atoms at their places as columns; padded with zeros.
template <class T>
class Counts {
   public:
    Counts(Index K, Index longest)
        : K_(K),
          capacity_(row_stride<T>(longest)),
          atoms_(K * capacity_),
          counts_(capacity_),
          ratio_(capacity_),
          back_(K) {}

    /// Take the positive counts of a row of a sparse matrix.
    template <class I>
    void load(Vector<const I> columns, Vector<const T> values, Matrix<const T> W) {
        n_ = 0;
        total_ = 0.0;
        T* const atoms = atoms_.vector().data;
        for (Index i = 0; i < columns.size; ++i) {
            if (!(values[i] > T(0))) continue;
            const Vector<const T> w = W[columns[i]];
            for (Index k = 0; k < K_; ++k) atoms[k * capacity_ + n_] = w[k];
            counts()[n_++] = values[i];
            total_ += static_cast<double>(values[i]);
        }
        width_ = padded<T>(n_);
        for (Index k = 0; k < K_; ++k) fill(row(k, n_, width_), T(0));
        fill(counts().slice(n_, width_), T(0));
    }

    double total() const { return total_; }
    Vector<T> back() const { return back_; }

    /// Set back to A'(v / p) with the model p = A h + constant; return constant sum(v / p).
    double explain(Vector<const T> h, double constant) {
        // Blocks of counts whose atoms stay in the first cache for both products.
        const Index size = padded<T>(1 + cached_atoms / (K_ + 1));
        T ratios = 0;
        fill(back_.vector(), T(0));
        for (Index begin = 0; begin < width_; begin += size) {
            const Index end = begin + size < width_ ? begin + size : width_;
            const Vector<const T> v = counts().slice(begin, end);
            const Vector<T> ratio = ratio_.vector().first(end - begin);
            const Matrix<const T> atoms =
                Matrix<const T>(atoms_.vector().data, K_, capacity_).cols_between(begin, end);
            for_each<T>(v.size, [&](auto at) {
                auto p = spread(static_cast<T>(constant), at(v));
                for (Index k = 0; k < K_; ++k) p += h[k] * at(atoms[k]);
                const auto zero = spread(T(0), p);
                at.store(ratio, where_above(at(v), zero, at(v) / p, zero));
            });
            for (Index k = 0; k < K_; ++k) back_[k] += dot<T>(atoms[k], ratio);
            ratios += sum<T>(v.size, [&](auto at) { return at(ratio); });
        }
        return constant * static_cast<double>(ratios);
    }

    /// Return the sum of v_i log(p_i / v_i) + v_i.
    double log_likelihood(Vector<const T> h, double constant) const {
        const T* const atoms = atoms_.vector().data;
        double likelihood = 0.0;
        for (Index i = 0; i < n_; ++i) {
            double p = constant;
            for (Index k = 0; k < K_; ++k)
                p += static_cast<double>(atoms[k * capacity_ + i]) * static_cast<double>(h[k]);
            const double v = static_cast<double>(counts()[i]);
            likelihood += v * (1.0 + std::log(p / v));
        }
        return likelihood;
    }

   private:
    Vector<T> counts() const { return counts_; }
    Vector<T> row(Index k, Index begin, Index end) const {
        return atoms_.vector().slice(k * capacity_ + begin, k * capacity_ + end);
    }

    Index K_, capacity_, n_ = 0, width_ = 0;
    double total_ = 0.0;
    Buffer<T> atoms_, counts_, ratio_, back_;
};

/// Encode one sample from h on; return its divergence, negative if the gap stayed too large.
template <class T>
double encode(Counts<T>& counts, Vector<const T> mass, Vector<T> h,
              const SparseKLSettings& settings) {
    const double total = counts.total(), constant = settings.offset * total;
    const Vector<T> back = counts.back();
    // Logarithms are taken when the gap may be small enough; the divergence never grows.
    double limit = near_tolerance * settings.tol * total;
    for (Index step = 0;; ++step) {
        interruption_point();
        const double hidden = counts.explain(h, constant);
        double rho = 0.0, cost = 0.0;
        for (Index k = 0; k < h.size; ++k) {
            cost += static_cast<double>(mass[k]) * static_cast<double>(h[k]);
            back[k] /= mass[k];
            rho = larger(static_cast<double>(back[k]), rho);
        }
        const double gap = total > 0.0 ? cost + total * std::log(rho) - total + hidden / rho : cost;
        if (gap <= limit || step >= settings.max_steps) {
            const double loss = cost - counts.log_likelihood(h, constant);
            if (gap <= settings.tol * loss) return loss;
            if (step >= settings.max_steps) return -loss;
            limit = larger(settings.tol * loss, 0.0);
        }
        for (Index k = 0; k < h.size; ++k) h[k] *= back[k];
    }
}

/// Return the largest number of entries in one of the rows begin, ..., end - 1.
template <class I>
Index longest_row(Vector<const I> indptr, Index begin, Index end) {
    Index longest = 0;
    for (Index s = begin; s < end; ++s) {
        const Index count = indptr[s + 1] - indptr[s];
        longest = count > longest ? count : longest;
    }
    return longest;
}

}  // namespace

template <class Target, class T, class I>
void SparseKLKernels<Target, T, I>::sampled_products(SparsePlaces<I> places, Matrix<const T> W,
                                                     Matrix<const T> H, Vector<T> found) {
    const Index n = places.rows(), per_row = 1 + places.indices.size / (n > 0 ? n : 1);
    parallel_blocks(n, 1 + products_per_task / per_row, [&](Index begin, Index end) {
        interruption_point();
        for (Index s = begin; s < end; ++s) {
            const Vector<const T> h = H[s];
            for (Index i = places.indptr[s]; i < places.indptr[s + 1]; ++i)
                found[i] = dot<T>(W[places.indices[i]], h);
        }
    });
}

template <class Target, class T, class I>
void SparseKLKernels<Target, T, I>::sparse_kl_codes(SparsePlaces<I> places, Vector<const T> values,
                                                    Matrix<const T> W, Matrix<const T> mass,
                                                    SparseKLCodes<T> codes,
                                                    const SparseKLSettings& settings) {
    parallel_blocks(places.rows(), samples_per_task, [&](Index begin, Index end) {
        Counts<T> counts(W.cols, longest_row(places.indptr, begin, end));
        for (Index s = begin; s < end; ++s) {
            const Index first = places.indptr[s], last = places.indptr[s + 1];
            counts.load(places.indices.slice(first, last), values.slice(first, last), W);
            const Vector<const T> m = mass[s < mass.rows ? s : mass.rows - 1];
            codes.loss[s] = static_cast<T>(encode<T>(counts, m, codes.H[s], settings));
        }
    });
}

template struct SparseKLKernels<Target, float, std::int32_t>;
template struct SparseKLKernels<Target, float, std::int64_t>;
template struct SparseKLKernels<Target, double, std::int32_t>;
template struct SparseKLKernels<Target, double, std::int64_t>;

}  // namespace thalweg
