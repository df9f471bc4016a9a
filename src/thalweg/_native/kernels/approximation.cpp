#include "kernels/approximation.hpp"

#include <cmath>
#include <limits>

#include "kernels/combination.hpp"
#include "kernels/projection.hpp"
#include "kernels/splitmix64.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Where the model is below this share of an entry, its slope is taken as if it were there: the
// slope of a loss that is infinite at zero would else bound all slopes for ever.
constexpr double min_model_share = 0.1;

/// Derivative p^(beta - 2) (p - v) of the divergence by the model p.
template <class T>
struct DivergenceSlope {
    double beta;

    template <class Value>
    THALWEG_INLINE Value operator()(Value p, Value v) const {
        constexpr T tiny = std::numeric_limits<T>::min();
        if (beta == 2.0) return p - v;
        const Value share = static_cast<T>(min_model_share) * v;
        const Value near = larger(spread(tiny, p), larger(share, p));
        const Value relative = (near - v) / near;
        if (beta == 0.0) return relative / near;
        return beta == 1.0 ? relative : relative * power(near);
    }

    THALWEG_INLINE T power(T x) const { return std::pow(x, static_cast<T>(beta - 1.0)); }
    template <int Bytes>
    THALWEG_INLINE Pack<T, Bytes> power(Pack<T, Bytes> x) const {
        T entries[Pack<T, Bytes>::lanes];
        x.store(entries);
        for (T& entry : entries) entry = power(entry);
        return Pack<T, Bytes>::load(entries);
    }
};

/// Set e to the slope of the divergence at the combination of atoms, zero where v is missing;
/// return |e|^2.
template <class T>
double sample_slope(Vector<const T> v, const Terms<T>& terms, Matrix<const T> W, double beta,
                    Vector<T> e) {
    const DivergenceSlope<T> slope{beta};
    combine(terms, W, e);
    const auto found = double_sums<T, 1>(e.size, [&](auto at, auto* sums) {
        const auto p = at(e);
        const auto entry = where_observed(slope(p, at(v)), at(v));
        at.store(e, entry);
        sums[0] += widened(entry) * widened(entry);
    });
    return found[0];
}

/// Squares of the length of a step of the average, and of the average before it.
struct Motion {
    double step = 0.0;
    double length = 0.0;
};

/// One run of [R] Algorithm 2.
template <class T>
class Approximation {
   public:
    Approximation(EncodedSamples<T> samples, Matrix<const T> W, const AtomSets<T>& sets,
                  const ApproximationSettings& settings)
        : samples_(samples),
          sets_(sets),
          settings_(settings),
          K_(W.rows),
          F_(W.cols),
          stride_(row_stride<T>(F_)),
          memory_((2 * K_ + 1) * stride_),
          factors_(K_),
          rows_(K_),
          W_(memory_.vector().data, K_, F_, stride_),
          average_(memory_.vector().data + K_ * stride_, K_, F_, stride_),
          e_{memory_.vector().data + 2 * K_ * stride_, F_},
          terms_{factors_, rows_} {
        for (Index k = 0; k < K_; ++k) {
            copy(W[k], W_[k]);
            copy(W[k], average_[k]);
        }
        if (!sets.is_box() && sets.elastic_net.l2 == 0.0) sum_ = 1.0 / sets.elastic_net.l1;
    }

    /// Take steps until the average settles; return their number.
    Index run(Vector<const Index> order, double& gradient_bound) {
        double rates = 0.0;
        Index steps = 0;
        while (steps < settings_.max_steps) {
            interruption_point();
            const Index sample = order[steps % order.size];
            ++steps;
            const Vector<const T> h = samples_.H[sample];
            terms_.assign(h);
            double square = sample_slope<T>(samples_.V[sample], terms_, W_, settings_.beta, e_);
            if (samples_.weights.rows > 0) square = weigh(samples_.weights[sample]);
            gradient_bound = larger(gradient_norm(square, h), gradient_bound);
            Motion motion;
            if (gradient_bound > 0.0) {
                const double rate =
                    settings_.step_length / (gradient_bound * std::sqrt(steps));  // statement 2
                rates += rate;
                motion = step(h, rate, rates > 0.0 ? rate / rates : 0.0);
            }
            const bool settled =
                std::sqrt(motion.step) <= settings_.tol * std::sqrt(motion.length);  // (9)
            if (steps >= settings_.min_steps && settled) break;
        }
        return steps;
    }

    /// Set W to the average, whose free atoms are projected against rounding errors of the sums.
    void result(Matrix<T> W) {
        for (Index k = 0; k < K_; ++k) {
            if (k >= settings_.frozen) project_atom(average_[k], sets_, k);
            copy(average_[k], W[k]);
        }
    }

   private:
    /// Multiply the slope by the weights of the entries; return its square.
    double weigh(Vector<const T> weights) {
        return double_sums<T, 1>(F_, [&](auto at, auto* sums) {
            const auto entry = at(e_) * at(weights);
            at.store(e_, entry);
            sums[0] += widened(entry) * widened(entry);
        })[0];
    }

    bool penalised() const { return settings_.l1 > 0.0 || settings_.l2 > 0.0; }

    /// Norm of the gradient in the free atoms: e h' and the slope of the penalty.
    double gradient_norm(double square, Vector<const T> h) const {
        double total = 0.0;
        for (Index k = settings_.frozen; k < K_; ++k) {
            const double code = static_cast<double>(h[k]);
            total += square * code * code;
            if (!penalised()) continue;
            const Vector<const T> w = W_[k];
            total += double_sums<T, 1>(F_, [&](auto at, auto* sums) {
                const auto own = settings_.l1 + settings_.l2 * widened(at(w));
                sums[0] += own * (own + 2.0 * code * widened(at(e_)));
            })[0];
        }
        return std::sqrt(larger(total, 0.0));
    }

    /// Statements 3, 5 and 6: average, gradient step and projection of every atom.
    Motion step(Vector<const T> h, double rate, double share) {
        Motion motion;
        for (Index k = 0; k < K_; ++k) {
            const bool stays = k < settings_.frozen || (h[k] == T(0) && !penalised());
            const Motion one = stays ? average_in(k, share) : move(k, h[k], rate, share);
            motion.step += one.step;
            motion.length += one.length;
        }
        return motion;
    }

    /// Move the average of atom k towards the atom by a share.
    Motion average_in(Index k, double share) {
        const Vector<T> w = W_[k], average = average_[k];
        const T part = static_cast<T>(share);
        const auto found = chunked_sums<T, 2>(F_, [&](auto at, auto* sums) {
            const auto old = at(average);
            const auto step = part * (at(w) - old);
            at.store(average, old + step);
            sums[0] += step * step;
            sums[1] += old * old;
        });
        return {found[0], found[1]};
    }

    /// Do the same, and take a gradient step with atom k in the same pass over memory.
    Motion move(Index k, T code, double rate, double share) {
        const Vector<T> w = W_[k], average = average_[k];
        const T part = static_cast<T>(share),
                slope = static_cast<T>(rate * static_cast<double>(code));
        const T keep = static_cast<T>(1.0 - rate * settings_.l2);
        const T flat = static_cast<T>(rate * settings_.l1);
        const auto found = chunked_sums<T, 4>(F_, [&](auto at, auto* sums) {
            const auto old = at(average), atom = at(w);
            const auto step = part * (atom - old);
            at.store(average, old + step);
            sums[0] += step * step;
            sums[1] += old * old;
            const auto entry = keep * atom - slope * at(e_) - flat;
            at.store(w, entry);
            sums[2] += above(entry, T(0));
            sums[3] += larger(entry, T(0));
        });
        if (sum_ > 0.0)
            project_to_sum(w, found[2], found[3], sum_, sets_.elastic_net.equality);
        else
            project_atom(w, sets_, k);
        return {found[0], found[1]};
    }

    EncodedSamples<T> samples_;
    AtomSets<T> sets_;
    ApproximationSettings settings_;
    Index K_, F_, stride_;
    Buffer<T> memory_, factors_;
    Buffer<Index> rows_;
    Matrix<T> W_, average_;
    Vector<T> e_;
    Terms<T> terms_;
    /// Sum of each atom if the set asks for nothing else, 0 otherwise.
    double sum_ = 0.0;
};

}  // namespace

template <class Target, class T>
Index ApproximationKernels<Target, T>::robust_approximation(EncodedSamples<T> samples, Matrix<T> W,
                                                            ApproximationState& state,
                                                            const AtomSets<T>& sets,
                                                            const ApproximationSettings& settings) {
    const Buffer<Index> order(samples.V.rows);
    permute(order, state.seed);
    Approximation<T> approximation(samples, W, sets, settings);
    const Index steps = approximation.run(order.vector(), state.gradient_bound);
    approximation.result(W);
    return steps;
}

template <class Target, class T>
void ApproximationKernels<Target, T>::random_permutation(Vector<Index> order, std::uint64_t& seed) {
    permute(order, seed);
}

template struct ApproximationKernels<Target, float>;
template struct ApproximationKernels<Target, double>;

}  // namespace thalweg
