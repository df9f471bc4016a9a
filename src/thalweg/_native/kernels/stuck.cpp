#include "kernels/stuck.hpp"

#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

enum class Repeating : std::uint8_t { no, stuck, dead };

/// Take an observed value of feature f; return whether the feature repeats it.
template <class T>
Repeating add_value(Repeats<T> repeats, Index f, T value, std::int32_t min_run) {
    std::int8_t& variation = repeats.variation[f];
    if (variation != unseen && value == repeats.last[f]) {
        if (repeats.run[f] < min_run) ++repeats.run[f];
        if (repeats.run[f] < min_run) return Repeating::no;
        if (variation != constant) return Repeating::stuck;
        return value == T(0) ? Repeating::dead : Repeating::no;
    }
    if (variation == constant) variation = repeats.run[f] >= min_run ? released : varied;
    if (variation == unseen) variation = constant;
    repeats.run[f] = 0;
    repeats.last[f] = value;
    return Repeating::no;
}

}  // namespace

template <class Target, class T>
void StuckKernels<Target, T>::mask_stuck(Matrix<const T> X, Matrix<bool> observed,
                                         Repeats<T> repeats, Index min_run) {
    const Buffer<Index> stuck(X.cols), dead(X.cols);
    const auto shortest = static_cast<std::int32_t>(min_run);
    for (Index t = 0; t < X.rows; ++t) {
        interruption_point();
        const Vector<const T> x = X[t];
        const Vector<bool> there = observed[t];
        Index n_stuck = 0, n_dead = 0, n_observed = 0;
        for (Index f = 0; f < X.cols; ++f) {
            if (!there[f]) continue;
            ++n_observed;
            const Repeating repeating = add_value(repeats, f, x[f], shortest);
            if (repeating == Repeating::stuck) stuck[n_stuck++] = f;
            if (repeating == Repeating::dead) dead[n_dead++] = f;
        }
        const Index n_other = n_observed - n_dead;
        if (n_other == 0) continue;
        for (Index i = 0; i < n_dead; ++i) there[dead[i]] = false;
        if (2 * n_stuck >= n_other) continue;
        for (Index i = 0; i < n_stuck; ++i) there[stuck[i]] = false;
    }
}

template struct StuckKernels<Target, float>;
template struct StuckKernels<Target, double>;

}  // namespace thalweg
