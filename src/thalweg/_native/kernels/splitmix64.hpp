// The generator splitmix64 (Steele, Lea and Flood, 2014), and permutations by Fisher and Yates.
#pragma once

#include <cstdint>

#include "support/array.hpp"

namespace thalweg {
namespace {

/// Advance the state; return the next number.
THALWEG_INLINE std::uint64_t draw(std::uint64_t& state) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// Set order to 0, ..., n - 1 in random order.
void permute(Vector<Index> order, std::uint64_t& state) {
    for (Index i = 0; i < order.size; ++i) order[i] = i;
    for (Index i = order.size - 1; i > 0; --i) {
        const Index j = static_cast<Index>(draw(state) % static_cast<std::uint64_t>(i + 1));
        const Index kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

}  // namespace
}  // namespace thalweg
