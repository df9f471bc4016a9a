// Passes over the rows of a basis: residuals of a step, gradients and Gram matrices.
#pragma once

#include <limits>

#include "kernels/row_blocks.hpp"
#include "kernels/small_systems.hpp"

namespace thalweg {
namespace {

/// Influence function psi of a loss: e within the threshold, and `beyond` times its sign outside.
template <class T>
struct Influence {
    T threshold;
    T beyond;

    /// Derivative of Huber's function; of squares, if the threshold is infinite.
    static Influence huber(T threshold) {
        return {threshold, threshold < std::numeric_limits<T>::infinity() ? threshold : T(0)};
    }
    /// Derivative of squares that are constant beyond a threshold.
    static Influence truncated(T threshold) { return {threshold, T(0)}; }
    static Influence least_squares() { return {std::numeric_limits<T>::infinity(), T(0)}; }
};

/// Entries that a step took to another side of a threshold, and those beyond it afterwards.
struct Crossings {
    double changed = 0.0;
    double beyond = 0.0;
};

/// Blocks whose residuals stay in registers until the gradient has them.
template <class T>
inline constexpr int blocks_in_registers =
    register_bytes >= 64 ? 8 : (register_bytes >= 32 ? 2 : 1);
/// Blocks whose rows stay in the first cache for the gradient and for the Gram matrix.
inline constexpr Index blocks_in_cache = 16;
/// Blocks whose products are summed in type T, lane by lane, before they are added in double.
inline constexpr Index blocks_per_sum = 64;
/// Entries per change from which a Gram matrix is corrected, not computed again.
inline constexpr double few_changes = 16.0;

/// Memory of passes over up to n rows with K codes. Entries have a side: -1, 0 or 1 for below,
/// within and above a threshold.
template <class T>
struct Passes {
    Passes(Index n, Index K)
        : equations(K),
          entries_(4 * n),
          sums_((K + gram_packs(K)) * Lanes<T>::lanes),
          scaled_(2 * blocks_in_cache * Lanes<T>::lanes),
          step_(K),
          side(entries_.vector().slice(0, n)),
          weight(entries_.vector().slice(n, 2 * n)),
          residual(entries_.vector().slice(2 * n, 3 * n)),
          trial(entries_.vector().slice(3 * n, 4 * n)) {}

    NormalEquations equations;

   private:
    Buffer<T> entries_, sums_, scaled_, step_;

   public:
    const Vector<T> side, weight, residual, trial;

    /// Set to = from - U step and g = U' psi(to); compare the sides with those before.
    template <class S>
    Crossings advance(Cube<const T> U, Vector<S> step, Vector<const T> from, Influence<T> psi,
                      Vector<T> to) {
        copy(step, step_.vector());
        fill(equations.g, 0.0);
        Crossings crossings;
        for (Index first = 0; first < U.size; first += blocks_per_sum) {
            const Index end = first + blocks_per_sum < U.size ? first + blocks_per_sum : U.size;
            fill(gradient_sums(U), T(0));
            advance_blocks(U, first, end, from, psi, to, crossings);
            add_gradient(U);
        }
        return crossings;
    }

    /// Set G = sum_i weight_i u_i u_i'.
    void gram(Cube<const T> U) {
        fill(equations.G, 0.0);
        for (Index first = 0; first < U.size; first += blocks_per_sum) {
            const Index end = first + blocks_per_sum < U.size ? first + blocks_per_sum : U.size;
            fill(gram_sums(U), T(0));
            for (Index b = first; b < end; b += blocks_in_cache)
                gram_blocks(U, b, b + blocks_in_cache < end ? b + blocks_in_cache : end);
            add_gram(U);
        }
    }

    /// Do `advance`, and `gram` of the entries within `limit`, in one pass over U.
    ///
    /// The sides are those of the limit afterwards; `far` counts the entries beyond it.
    template <class S>
    Crossings advance_and_gram(Cube<const T> U, Vector<S> step, Vector<const T> from,
                               Influence<T> psi, Vector<T> to, T limit, double& far) {
        copy(step, step_.vector());
        fill(equations.g, 0.0);
        fill(equations.G, 0.0);
        Crossings crossings;
        far = 0.0;
        for (Index first = 0; first < U.size; first += blocks_per_sum) {
            const Index end = first + blocks_per_sum < U.size ? first + blocks_per_sum : U.size;
            fill(gradient_sums(U), T(0));
            fill(gram_sums(U), T(0));
            for (Index b = first; b < end; b += blocks_in_cache) {
                const Index next = b + blocks_in_cache < end ? b + blocks_in_cache : end;
                advance_blocks(U, b, next, from, psi, to, crossings);
                far += limit_blocks(b, next, to, limit);
                gram_blocks(U, b, next);
            }
            add_gradient(U);
            add_gram(U);
        }
        return crossings;
    }

    /// Correct G and its weights of 0 and 1 by the entries whose side has changed.
    void exchange(Cube<const T> U) {
        for (Index b = 0; b < U.size; ++b) {
            const Lanes<T> out = load_block(side, b);
            const Lanes<T> moved = T(1) - out * out - load_block(weight, b);
            if (total(moved * moved) != T(0)) exchange_block(U, b);
        }
    }

    /// Set the weights of n entries to 1 within the threshold, and to 0 beyond.
    void weights_within(Index n, Vector<T> to) const {
        const Vector<const T> from = side;
        for_each<T>(n, [&](auto at) {
            const auto out = at(from);
            at.store(to, T(1) - out * out);
        });
    }

    /// Add the weighted squares of the entries of r.
    static double squares(Vector<const T> r, Vector<const T> weight) {
        Lanes<T> sums = Lanes<T>::fill(T(0));
        for (Index b = 0; b < r.size / Lanes<T>::lanes; ++b) {
            const Lanes<T> value = load_block(r, b);
            sums += load_block(weight, b) * value * value;
        }
        return static_cast<double>(total(sums));
    }

   private:
    static constexpr Index lanes = Lanes<T>::lanes;

    /// Sums of the lower half of a Gram matrix, in tiles of two by two.
    static Index gram_packs(Index K) {
        const Index pairs = (K + 1) / 2;
        return 2 * pairs * (pairs + 1);
    }
    Vector<T> gradient_sums(Cube<const T> U) const { return sums_.vector().first(U.rows * lanes); }
    Vector<T> gram_sums(Cube<const T> U) const {
        const Index first = U.rows * lanes;
        return sums_.vector().slice(first, first + gram_packs(U.rows) * lanes);
    }

    void add_gradient(Cube<const T> U) {
        for (Index k = 0; k < U.rows; ++k)
            equations.g[k] += static_cast<double>(total(load_block(gradient_sums(U), k)));
    }

    void advance_blocks(Cube<const T> U, Index first, Index end, Vector<const T> from,
                        Influence<T> psi, Vector<T> to, Crossings& crossings) {
        constexpr int group = blocks_in_registers<T>;
        Lanes<T> changed = Lanes<T>::fill(T(0)), beyond = changed;
        Index b = first;
        for (; b + group <= end; b += group)
            advance_group<group>(U, b, from, psi, to, changed, beyond);
        for (; b < end; ++b) advance_group<1>(U, b, from, psi, to, changed, beyond);
        crossings.changed += static_cast<double>(total(changed));
        crossings.beyond += static_cast<double>(total(beyond));
    }

    template <int Size>
    THALWEG_INLINE void advance_group(Cube<const T> U, Index first, Vector<const T> from,
                                      Influence<T> psi, Vector<T> to, Lanes<T>& changed,
                                      Lanes<T>& beyond) {
        Lanes<T> value[Size];
        for (int b = 0; b < Size; ++b) value[b] = load_block(from, first + b);
        for (Index k = 0; k < U.rows; ++k) {
            const T step = step_[k];
            for (int b = 0; b < Size; ++b) value[b] -= step * load_rows(U, first + b, k);
        }
        for (int b = 0; b < Size; ++b) {
            const Lanes<T> high = above(value[b], psi.threshold);
            const Lanes<T> low = above(-psi.threshold, value[b]);
            const Lanes<T> now = high - low, out = high + low;
            const Lanes<T> moved = now - load_block(side, first + b);
            changed += moved * moved;
            beyond += out;
            store_block(side, first + b, now);
            store_block(to, first + b, value[b]);
            value[b] = (T(1) - out) * value[b] + psi.beyond * now;
        }
        const Vector<T> sums = gradient_sums(U);
        for (Index k = 0; k < U.rows; ++k) {
            Lanes<T> sum = load_block(sums, k);
            for (int b = 0; b < Size; ++b) sum += value[b] * load_rows(U, first + b, k);
            store_block(sums, k, sum);
        }
    }

    /// Set sides and weights by a limit, and return the number of entries beyond it.
    double limit_blocks(Index first, Index end, Vector<const T> r, T limit) {
        Lanes<T> far = Lanes<T>::fill(T(0));
        for (Index b = first; b < end; ++b) {
            const Lanes<T> value = load_block(r, b);
            const Lanes<T> high = above(value, limit), low = above(-limit, value);
            store_block(side, b, high - low);
            store_block(weight, b, T(1) - (high + low));
            far += high + low;
        }
        return static_cast<double>(total(far));
    }

    /// Add the products of a few blocks to the sums: tiles of two by two entries of G.
    void gram_blocks(Cube<const T> U, Index first, Index end) {
        const Vector<T> sums = gram_sums(U);
        const Vector<T> even = scaled_.vector().first(blocks_in_cache * lanes);
        const Vector<T> odd = scaled_.vector().slice(even.size, 2 * even.size);
        Index tile = 0;
        for (Index k = 0; k < U.rows; k += 2) {
            const Index k1 = k + 1 < U.rows ? k + 1 : k;
            for (Index b = first; b < end; ++b) {
                const Lanes<T> scale = load_block(weight, b);
                store_block(even, b - first, scale * load_rows(U, b, k));
                store_block(odd, b - first, scale * load_rows(U, b, k1));
            }
            for (Index m = 0; m <= k; m += 2, tile += 4) {
                const Index m1 = m + 1 < U.rows ? m + 1 : m;
                Lanes<T> aa = load_block(sums, tile), ab = load_block(sums, tile + 1);
                Lanes<T> ba = load_block(sums, tile + 2), bb = load_block(sums, tile + 3);
                for (Index b = first; b < end; ++b) {
                    const Lanes<T> x = load_block(even, b - first), y = load_block(odd, b - first);
                    const Lanes<T> u = load_rows(U, b, m), v = load_rows(U, b, m1);
                    aa += x * u;
                    ab += x * v;
                    ba += y * u;
                    bb += y * v;
                }
                store_block(sums, tile, aa);
                store_block(sums, tile + 1, ab);
                store_block(sums, tile + 2, ba);
                store_block(sums, tile + 3, bb);
            }
        }
    }

    /// Add the sums of tiles to the lower half of G.
    void add_gram(Cube<const T> U) {
        const Vector<T> sums = gram_sums(U);
        Index tile = 0;
        for (Index k = 0; k < U.rows; k += 2) {
            for (Index m = 0; m <= k; m += 2, tile += 4) {
                for (Index i = 0; i < 4; ++i) {
                    const Index row = k + i / 2, col = m + i % 2;
                    if (row < U.rows && col <= row)
                        equations.G(row, col) +=
                            static_cast<double>(total(load_block(sums, tile + i)));
                }
            }
        }
    }

    void exchange_block(Cube<const T> U, Index b) {
        const Matrix<const T> rows = U[b];
        for (Index lane = 0; lane < lanes; ++lane) {
            const Index i = b * lanes + lane;
            const T now = side[i] == T(0) ? T(1) : T(0), change = now - weight[i];
            if (change == T(0)) continue;
            weight[i] = now;
            for (Index k = 0; k < U.rows; ++k) {
                const double scaled =
                    static_cast<double>(change) * static_cast<double>(rows(k, lane));
                for (Index m = 0; m <= k; ++m)
                    equations.G(k, m) += scaled * static_cast<double>(rows(m, lane));
            }
        }
    }
};

}  // namespace
}  // namespace thalweg
