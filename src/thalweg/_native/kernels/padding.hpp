// Arrays whose length is a multiple of a register, so that loops have no remainder.
#pragma once

#include "support/simd.hpp"

namespace thalweg {
namespace {

/// Entries of type T in a register.
template <class T>
constexpr Index register_lanes = register_bytes / static_cast<Index>(sizeof(T));

/// The least multiple of a register that holds n entries.
template <class T>
constexpr Index padded(Index n) {
    return (n + register_lanes<T> - 1) / register_lanes<T> * register_lanes<T>;
}

/// Call f(at) for the registers of n padded entries.
template <class T, class F>
THALWEG_INLINE void for_padded(Index n, F f) {
    using Value = Pack<T, register_bytes>;
    for (Index i = 0; i < n; i += Value::lanes) f(Place<Value>{i});
}

}  // namespace
}  // namespace thalweg
