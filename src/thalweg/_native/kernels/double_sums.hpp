// Several sums in one pass, in double precision whatever the type of the entries.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "support/simd.hpp"

namespace thalweg {
namespace {

THALWEG_INLINE double widened(float x) { return static_cast<double>(x); }
THALWEG_INLINE double widened(double x) { return x; }

/// A vector of floats in double precision.
template <class Wide, class Narrow>
THALWEG_INLINE Wide converted(Narrow x) {
#if defined(__AVX512F__)
    // GCC 12 would make two conversions of it; its intrinsic without a mask has warnings.
    if constexpr (sizeof(Wide) == sizeof(__m512d))
        return (Wide)_mm512_maskz_cvtps_pd(0xff, reinterpret_cast<__m256>(x));
#endif
    return __builtin_convertvector(x, Wide);
}

/// One half of a register of floats, in double precision.
template <class Wide, class Narrow, int... Lane>
THALWEG_INLINE Wide converted_half(Narrow x, int which, std::integer_sequence<int, Lane...>) {
    constexpr int lanes = sizeof...(Lane);
    if (which == 0) return converted<Wide>(__builtin_shufflevector(x, x, Lane...));
    return converted<Wide>(__builtin_shufflevector(x, x, (lanes + Lane)...));
}

/// The entries in double precision.
template <int Bytes>
THALWEG_INLINE Pack<double, Bytes> widened(Pack<double, Bytes> x) {
    return x;
}
template <int Bytes>
THALWEG_INLINE Pack<double, 2 * Bytes> widened(Pack<float, Bytes> x) {
    using Wide = Pack<double, 2 * Bytes>;
    Wide y;
    if constexpr (Wide::parts == x.parts) {  // the floats fill a half of a register
        y.part[0] = converted<typename Wide::Register>(x.part[0]);
    } else {
        constexpr std::make_integer_sequence<int, Wide::width / int(sizeof(double))> lanes;
        for (int i = 0; i < Wide::parts; ++i)
            y.part[i] = converted_half<typename Wide::Register>(x.part[i / 2], i % 2, lanes);
    }
    return y;
}

/// x where a > b, else y; also y where a or b is NaN.
template <class T, int Bytes>
THALWEG_INLINE Pack<T, Bytes> where_above(Pack<T, Bytes> a, Pack<T, Bytes> b, Pack<T, Bytes> x,
                                          Pack<T, Bytes> y) {
    for (int i = 0; i < x.parts; ++i) x.part[i] = a.part[i] > b.part[i] ? x.part[i] : y.part[i];
    return x;
}
template <std::floating_point T>
THALWEG_INLINE T where_above(T a, T b, T x, T y) {
    return a > b ? x : y;
}

/// x, and zero where y is NaN.
template <class T, int Bytes>
THALWEG_INLINE Pack<T, Bytes> where_observed(Pack<T, Bytes> x, Pack<T, Bytes> y) {
    using Register = typename Pack<T, Bytes>::Register;
    for (int i = 0; i < x.parts; ++i) x.part[i] = y.part[i] == y.part[i] ? x.part[i] : Register{};
    return x;
}
template <std::floating_point T>
THALWEG_INLINE T where_observed(T x, T y) {
    return std::isnan(y) ? T(0) : x;
}

/// A number as a value of the same type as `like`.
template <class T, int Bytes>
THALWEG_INLINE Pack<T, Bytes> spread(T number, Pack<T, Bytes>) {
    return Pack<T, Bytes>::fill(number);
}
template <std::floating_point T>
THALWEG_INLINE T spread(T number, T) {
    return number;
}

template <int N>
struct Sums {
    double value[N] = {};
    THALWEG_INLINE double operator[](int i) const { return value[i]; }
};

/// Whether terms are added in double precision at once, or a few of them in their own type first.
enum class Adding : std::uint8_t { widened, chunked };

// Terms of one lane that are added in single precision: their rounding error stays below that of
// one entry times this.
constexpr Index chunk = 8;

template <Adding adding, class T, int Bytes, int N, class F>
THALWEG_INLINE void finish_sums(Index done, Index n, F& f, Sums<N>& result) {
    if constexpr (Bytes >= 16) {
        using Value = Pack<T, Bytes>;
        using Wide = Pack<double, Bytes* static_cast<int>(8 / sizeof(T))>;
        if (done + Value::lanes <= n) {
            Wide sums[N];
            for (int i = 0; i < N; ++i) sums[i] = Wide::fill(0.0);
            if constexpr (adding == Adding::widened || std::is_same_v<T, double>) {
                for (; done + Value::lanes <= n; done += Value::lanes) f(Place<Value>{done}, sums);
            } else {
                while (done + Value::lanes <= n) {
                    const Index limit = done + chunk * Value::lanes, end = n < limit ? n : limit;
                    Value part[N];
                    for (int i = 0; i < N; ++i) part[i] = Value::fill(T(0));
                    for (; done + Value::lanes <= end; done += Value::lanes)
                        f(Place<Value>{done}, part);
                    for (int i = 0; i < N; ++i) sums[i] += widened(part[i]);
                }
            }
            for (int i = 0; i < N; ++i) result.value[i] += total(sums[i]);
        }
        constexpr int next = Bytes > register_bytes ? register_bytes : Bytes / 2;
        finish_sums<adding, T, next>(done, n, f, result);
    } else if constexpr (adding == Adding::widened) {
        for (; done < n; ++done) f(Place<T>{done}, result.value);
    } else {
        T part[N] = {};
        for (; done < n; ++done) f(Place<T>{done}, part);
        for (int i = 0; i < N; ++i) result.value[i] += widened(part[i]);
    }
}

// Registers for each sum: more would not stay in registers.
constexpr int sum_registers = 2;

/// Call f(at, sums) for all entries 0, ..., n - 1, where it adds widened values to the N sums.
template <class T, int N, class F>
THALWEG_INLINE Sums<N> double_sums(Index n, F f) {
    constexpr int bytes = sum_registers * register_bytes * static_cast<int>(sizeof(T)) / 8;
    Sums<N> result;
    finish_sums<Adding::widened, T, bytes>(0, n, f, result);
    return result;
}

/// Call f(at, sums) for all entries 0, ..., n - 1, where it adds values of type T to the N sums.
///
/// Chunks of terms are added in that type, and the chunks in double precision.
template <class T, int N, class F>
THALWEG_INLINE Sums<N> chunked_sums(Index n, F f) {
    Sums<N> result;
    finish_sums<Adding::chunked, T, sum_registers * register_bytes>(0, n, f, result);
    return result;
}

}  // namespace
}  // namespace thalweg
