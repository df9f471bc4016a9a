// Masks: places and numbers of flags.
#pragma once

#include <cstdint>

#include "support/array.hpp"

namespace thalweg {
namespace {

/// Return how many flags are set.
inline Index count(Vector<const bool> flags) {
    Index n = 0;
    for (Index i = 0; i < flags.size; ++i) n += flags[i];
    return n;
}

/// Set `index` to the places of the flags that are as wanted; return their number.
inline Index select(Vector<const bool> flags, bool wanted, Vector<Index> index) {
    constexpr Index word = sizeof(std::uint64_t);
    constexpr std::uint64_t all = 0x0101010101010101u;
    Index n = 0, k = 0;
    for (; k + word <= flags.size; k += word) {
        std::uint64_t found = 0;
        __builtin_memcpy(&found, flags.data + k, sizeof(found));
        if (!wanted) found ^= all;
        for (; found != 0; found &= found - 1) index[n++] = k + __builtin_ctzll(found) / 8;
    }
    for (; k < flags.size; ++k)
        if (flags[k] == wanted) index[n++] = k;
    return n;
}

}  // namespace
}  // namespace thalweg
