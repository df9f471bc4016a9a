#include "kernels/factor_chain.hpp"

#include "kernels/code_update.hpp"
#include "kernels/factor_evidence.hpp"
#include "kernels/transitions.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Filter and smoother of the codes.
class Chain {
   public:
    Chain(Index n, Vector<const double> phi, Vector<const double> steps, const CodeMoments& moments)
        : K_(phi.size),
          steps_(steps),
          phi_(phi),
          moments_(moments),
          factors_(n * K_ * K_),
          moves_(K_),
          update_(K_),
          a_(K_, K_),
          b_(K_, K_),
          c_(K_, K_),
          left_(K_),
          step_(-1.0) {}

    double filter(const Evidence& evidence, Index n) {
        double twice = 0.0;
        for (Index t = 0; t < n; ++t) {
            interruption_point();
            predict(t);
            twice -= evidence.constant(t) + update(evidence, t);
        }
        return 0.5 * twice;
    }

    void smooth(Index n) {
        for (Index t = n - 2; t >= 0; --t) {
            interruption_point();
            retrace(t);
        }
    }

   private:
    Matrix<double> factor(Index t) const { return {factors_.vector().data + t * K_ * K_, K_, K_}; }

    void move(double step) {
        if (step == step_) return;
        step_ = step;
        for (Index k = 0; k < K_; ++k) moves_[k] = transition(phi_[k], step);
    }

    /// Set mean and covariance of sample t to those before its entries are seen.
    void predict(Index t) {
        const Vector<double> m = moments_.mean[t];
        const Matrix<double> P = moments_.covariance[t];
        if (t == 0) {
            for (Index k = 0; k < K_; ++k) {
                m[k] = 0.0;
                for (Index j = 0; j < K_; ++j) P(k, j) = k == j ? 1.0 : 0.0;
            }
            return;
        }
        move(steps_[t - 1]);
        const Vector<double> before = moments_.mean[t - 1];
        const Matrix<double> Q = moments_.covariance[t - 1];
        for (Index k = 0; k < K_; ++k) {
            m[k] = moves_[k].a * before[k];
            for (Index j = 0; j < K_; ++j) P(k, j) = moves_[k].a * moves_[j].a * Q(k, j);
            P(k, k) += moves_[k].noise;
        }
    }

    /// Update with the entries of sample t. Return the parts of -2 log-likelihood that depend on
    /// the codes.
    double update(const Evidence& evidence, Index t) {
        return update_({evidence.precision(t), evidence.information(t)}, moments_.mean[t],
                       moments_.covariance[t], factor(t));
    }

    /// Set the moments of sample t to those given all samples; P in Joseph's form.
    void retrace(Index t) {
        move(steps_[t]);
        const Vector<double> m = moments_.mean[t], next = moments_.mean[t + 1];
        const Matrix<double> P = moments_.covariance[t], N = moments_.covariance[t + 1];
        const Matrix<double> J = a_.matrix(), work = b_.matrix(), other = c_.matrix();
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) work(i, j) = moves_[i].a * P(i, j);
        solve_lower(factor(t + 1), work);
        solve_upper(factor(t + 1), work);
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) J(i, j) = work(j, i);
        for (Index k = 0; k < K_; ++k) left_[k] = next[k] - moves_[k].a * m[k];
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) m[i] += J(i, j) * left_[j];
        multiply(J, N, other);
        for (Index k = 0; k < K_; ++k) moments_.lagged(t, k) = other(k, k) + m[k] * next[k];
        smooth_covariance(P, J, other);
    }

    /// Set P = (I - JF) P (I - JF)' + J (Q + N) J', where JN is known and F = diag(a).
    void smooth_covariance(Matrix<double> P, Matrix<double> J, Matrix<double> JN) {
        const Matrix<double> work = b_.matrix();
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) JN(i, j) += J(i, j) * moves_[j].noise;
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < K_; ++j) {
                double sum = P(i, j);
                for (Index k = 0; k < K_; ++k) sum -= J(i, k) * moves_[k].a * P(k, j);
                work(i, j) = sum;
            }
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j <= i; ++j) {
                double sum = work(i, j);
                for (Index k = 0; k < K_; ++k)
                    sum += (JN(i, k) - work(i, k) * moves_[k].a) * J(j, k);
                P(i, j) = sum;
            }
        for (Index i = 0; i < K_; ++i)
            for (Index j = 0; j < i; ++j) P(j, i) = P(i, j);
    }

    Index K_;
    Vector<const double> steps_, phi_;
    CodeMoments moments_;
    Buffer<double> factors_;
    Buffer<Transition> moves_;
    CodeUpdate update_;
    Buffer<double> a_, b_, c_, left_;
    double step_;
};

}  // namespace

template <class Target, class T>
double FactorKernels<Target, T>::codes(const FactorSeries<T>& series,
                                       const FactorParameters& parameters, bool smoothed,
                                       const CodeMoments& moments) {
    const Index n = series.Y.rows;
    const Evidence evidence(series, parameters);
    Chain chain(n, parameters.phi, series.steps, moments);
    const double log_likelihood = chain.filter(evidence, n);
    if (smoothed) chain.smooth(n);
    return log_likelihood;
}

template <class Target, class T>
void FactorKernels<Target, T>::learn_phi(const CodeMoments& moments, Vector<const double> steps,
                                         Vector<double> phi) {
    if (steps.size == 0) return;
    const Index n = moments.mean.rows;
    parallel_for(phi.size, [&](Index k) {
        interruption_point();
        const Buffer<double> second(n), lagged(n);
        for (Index t = 0; t < n; ++t) {
            const double m = moments.mean(t, k);
            second[t] = moments.covariance[t](k, k) + m * m;
            if (t < n - 1) lagged[t] = moments.lagged(t, k);
        }
        const Moments found{second.vector(), lagged.vector().first(n - 1)};
        phi[k] = with_sums(found, steps, [&](const auto& sums) {
            return best_phi(mean_of(steps), phi[k], [&](double value) {
                const ProcessSums s = sums(value);
                return s.squares + s.log_determinant;
            });
        });
    });
}

template struct FactorKernels<Target, float>;
template struct FactorKernels<Target, double>;

}  // namespace thalweg
