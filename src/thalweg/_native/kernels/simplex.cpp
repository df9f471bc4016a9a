#include "kernels/simplex.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/padding.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Added to the diagonal of a system, as a share of the largest diagonal entry: rows may depend on
// one another. The line search that follows makes up for it.
constexpr double ridge_share = 1e-13;
// Entries of the codes of one task of the pool: some 50 to 100 microseconds.
constexpr Index entries_per_task = 1024;
// Weights of a problem whose steps take many microseconds.
constexpr Index large_problem = 64;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// One problem of size K and the memory for its steps; arrays are padded with zeros.
class SimplexProblem {
   public:
    explicit SimplexProblem(Index K)
        : K_(K),
          width_(padded<double>(K)),
          gram_(K, width_),
          rows_(K, padded<double>(K + 2)),
          vectors_(6, width_),
          support_(K + 1) {
        vectors_.zero();
        gram_.zero();
        rows_.zero();
    }

    void use_matrix(Matrix<const double> G) {
        largest_ = 0.0;
        for (Index i = 0; i < K_; ++i) {
            copy(G[i], gram_.matrix()[i].first(K_));
            largest_ = larger(G(i, i), largest_);
        }
    }

    /// Minimise from w on; return the gap.
    double solve(Vector<const double> c, Vector<double> start, const SimplexSettings& settings) {
        const Vector<double> w = vector(W), g = vector(Gradient);
        double size = largest_;
        n_ = 0;
        for (Index i = 0; i < K_; ++i) {
            w[i] = start[i];
            if (start[i] != 0.0) support_[n_++] = i;
            g[i] = -c[i];
            size = larger(std::fabs(c[i]), size);
        }
        add_product(w, g);
        double gap = 0.0;
        for (Index step = 0; step <= settings.max_steps; ++step) {
            if (K_ >= large_problem) interruption_point();
            gap = find_extremes();
            if (step == settings.max_steps || !(gap > settings.tol * size)) break;
            if (newton_step(c, ridge_share * size)) continue;
            // Rounding errors spoilt the system: move weight from the worst entry to the best.
            if (!exchange_step()) break;
        }
        copy(w.first(K_), start);
        return gap;
    }

   private:
    enum Name : std::uint8_t { W, Gradient, Direction, Change, First, Second };

    Vector<double> vector(Name name) const { return vectors_.matrix()[name]; }

    /// Set y += G x for x that is zero outside of the support.
    void add_product(Vector<const double> x, Vector<double> y) const {
        const Matrix<const double> gram = gram_.matrix();
        for_padded<double>(width_, [&](auto at) {
            auto value = at(y);
            for (Index j = 0; j < n_; ++j) value += x[support_[j]] * at(gram[support_[j]]);
            at.store(y, value);
        });
    }

    /// Find the support, its steepest slope and the least slope of all; return their difference.
    double find_extremes() {
        const Vector<const double> w = vector(W), g = vector(Gradient);
        Index low = 0, high = -1;
        double least = infinity;
        n_ = 0;
        for (Index i = 0; i < K_; ++i) {
            if (g[i] < g[low]) low = i;
            if (!(w[i] > 0.0)) continue;
            support_[n_++] = i;
            least = smaller(g[i], least);
            if (high < 0 || g[i] > g[high]) high = i;
        }
        if (high < 0) high = K_ - 1;
        low_ = low;
        high_ = high;
        if (w[low] == 0.0 && g[low] < least) support_[n_++] = low;
        return g[high] - g[low];
    }

    /// Go to the minimum on the support, or towards it until an entry is zero.
    bool newton_step(Vector<const double> c, double ridge) {
        const Vector<double> d = vector(Direction), change = vector(Change);
        fill(d, 0.0);
        const bool definite = minimise_on_support(c, ridge, d);
        for (Index i = 0; i < n_; ++i) d[support_[i]] -= vector(W)[support_[i]];
        fill(change, 0.0);
        add_product(d, change);
        return definite && advance();
    }

    /// Move weight from the entry of the largest slope on the support to that of the least.
    bool exchange_step() {
        const Vector<double> d = vector(Direction), change = vector(Change);
        fill(d, 0.0);
        d[low_] = 1.0;
        d[high_] = -1.0;
        const Matrix<double> gram = gram_.matrix();
        for (Index i = 0; i < K_; ++i) change[i] = gram(low_, i) - gram(high_, i);
        return advance();
    }

    /// Set d on the support to the minimiser of w'Gw/2 - c'w with sum 1; false if not definite.
    ///
    /// With G a = c and G b = 1 it is a - mu b, mu such that the sum is 1. c and 1 are columns
    /// n and n + 1 of the system; elimination needs the upper half only.
    bool minimise_on_support(Vector<const double> c, double ridge, Vector<double> d) {
        load_system(c, ridge);
        if (!eliminate()) return false;
        const Vector<double> a = vector(First), b = vector(Second);
        double sum_a = 0.0, sum_b = 0.0;
        for (Index j = n_ - 1; j >= 0; --j) {
            const Vector<const double> row = rows_.matrix()[j];
            double left_a = row[n_], left_b = row[n_ + 1];
            for (Index k = j + 1; k < n_; ++k) {
                left_a -= row[k] * a[k];
                left_b -= row[k] * b[k];
            }
            a[j] = left_a * row[j];
            b[j] = left_b * row[j];
            sum_a += a[j];
            sum_b += b[j];
        }
        const double mu = (sum_a - 1.0) / sum_b;
        for (Index i = 0; i < n_; ++i) d[support_[i]] = a[i] - mu * b[i];
        return true;
    }

    void load_system(Vector<const double> c, double ridge) {
        const Matrix<double> rows = rows_.matrix();
        for (Index i = 0; i < n_; ++i) {
            const Vector<const double> source = gram_.matrix()[support_[i]];
            const Vector<double> row = rows[i];
            for (Index j = 0; j < n_; ++j) row[j] = source[support_[j]];
            row[i] += ridge;
            row[n_] = c[support_[i]];
            row[n_ + 1] = 1.0;
        }
    }

    /// Eliminate below the diagonal, and invert it; false if a pivot is not positive.
    bool eliminate() {
        constexpr Index lanes = register_lanes<double>;
        using Value = Pack<double, register_bytes>;
        const Matrix<double> rows = rows_.matrix();
        const Index end = padded<double>(n_ + 2);
        for (Index j = 0; j < n_; ++j) {
            const Vector<double> row = rows[j];
            if (!(row[j] > 0.0)) return false;
            const double inverse = 1.0 / row[j];
            for (Index i = j + 1; i < n_; ++i) {
                const Vector<double> target = rows[i];
                const double factor = row[i] * inverse;
                for (Index k = i / lanes * lanes; k < end; k += lanes) {
                    const Place<Value> at{k};
                    at.store(target, at(target) - factor * at(row));
                }
            }
            row[j] = inverse;
        }
        return true;
    }

    /// Go along the direction to the lowest point, or to where an entry becomes zero.
    ///
    /// change is G d; the gradient is kept up to date. Returned is whether the objective fell.
    bool advance() {
        const Vector<double> w = vector(W), g = vector(Gradient);
        const Vector<double> d = vector(Direction), change = vector(Change);
        const double slope = dot(d, g), curvature = dot(d, change);
        if (!(slope < 0.0)) return false;
        double step = curvature > 0.0 ? -slope / curvature : infinity;
        Index leaver = -1;
        for (Index j = 0; j < n_; ++j) {
            const Index i = support_[j];
            if (d[i] < 0.0 && w[i] < -d[i] * step) {
                step = w[i] / -d[i];
                leaver = i;
            }
        }
        if (!(step > 0.0 && step < infinity)) return false;
        for_padded<double>(width_, [&](auto at) {
            at.store(w, larger(at(w) + step * at(d), 0.0));
            at.store(g, at(g) + step * at(change));
        });
        if (leaver >= 0) w[leaver] = 0.0;
        double total = 0.0;
        for (Index i = 0; i < K_; ++i) total += w[i];
        for_padded<double>(width_, [&](auto at) { at.store(w, at(w) / total); });
        return true;
    }

    Index K_, width_;
    Buffer<double> gram_, rows_, vectors_;
    Buffer<Index> support_;
    double largest_ = 0.0;
    Index n_ = 0, low_ = 0, high_ = 0;
};

}  // namespace

template <class Target>
void SimplexKernels<Target>::simplex_codes(Cube<const double> G, Matrix<const double> C,
                                           Matrix<double> W, Vector<double> gaps,
                                           const SimplexSettings& settings) {
    const Index K = W.cols, rows_per_task = (entries_per_task + K - 1) / K;
    parallel_blocks(W.rows, rows_per_task, [&](Index begin, Index end) {
        SimplexProblem problem(K);
        if (G.size == 1) problem.use_matrix(G[0]);
        for (Index r = begin; r < end; ++r) {
            interruption_point();
            if (G.size > 1) problem.use_matrix(G[r]);
            gaps[r] = problem.solve(C[r], W[r], settings);
        }
    });
}

template struct SimplexKernels<Target>;

}  // namespace thalweg
