#include "kernels/nnls.hpp"

#include "kernels/apply_inverses.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Right-hand sides for one task of the pool.
constexpr Index rows_per_task = 64;

}  // namespace

template <class Target, class T>
void NnlsKernels<Target, T>::nonnegative_codes(const GramMatrices& gram, Matrix<const T> C,
                                               bool guessed, Solutions found, Index max_pivots) {
    const Index K = C.cols;
    parallel_blocks(C.rows, rows_per_task, [&](Index begin, Index end) {
        const Buffer<double> unconstrained(end - begin, K), gradient(K);
        const Matrix<double> U = unconstrained;
        fill(U, 1.0);  // without an accurate inverse, guess that all entries are positive
        apply_inverses(gram, [&](Index s) { return begin + s; }, C.rows_between(begin, end), U);
        NonnegativeSolver solver(K);
        for (Index s = begin; s < end; ++s) {
            interruption_point();
            const Vector<const double> u = U[s - begin];
            const Vector<bool> passive = found.passive[s];
            if (!guessed)
                for (Index k = 0; k < K; ++k) passive[k] = u[k] > 0.0;
            const Index at = gram.of(s);
            const Quadratic q{gram.G[at], gram.inverse[at], gram.trusted[at], C[s], u};
            found.solved[s] = solver.solve(q, {found.H[s], passive, gradient}, max_pivots);
        }
    });
}

template struct NnlsKernels<Target, double>;

}  // namespace thalweg
