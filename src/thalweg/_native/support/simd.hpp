// Vectors of a fixed number of entries that stay in registers, and loops over arrays in them.
//
// Sums have a fixed order for each instruction set, whatever the compiler makes of the loops. A
// product and a sum may become one instruction.
#pragma once

#include <cmath>
#include <concepts>
#include <utility>

#include "support/array.hpp"

// Loops over registers are unrolled early: otherwise the registers would live in memory.
#ifdef __clang__
#define THALWEG_UNROLL _Pragma("unroll")
#else
#define THALWEG_UNROLL _Pragma("GCC unroll 16")
#endif

namespace thalweg {
namespace {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// Bytes of entries of type T, in one register or several, used as one value.
template <class T, int Bytes>
struct Pack {
    static constexpr int width = Bytes < register_bytes ? Bytes : register_bytes;
    static constexpr int parts = Bytes / width;
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    typedef T Register __attribute__((vector_size(width)));

    Register part[parts];

    THALWEG_INLINE static Pack load(const T* place) {
        Pack x;
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i)
            __builtin_memcpy(&x.part[i], place + i * lanes / parts, width);
        return x;
    }
    THALWEG_INLINE static Pack fill(T number) {
        Pack x;
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i) x.part[i] = number - Register{};
        return x;
    }
    THALWEG_INLINE void store(T* place) const {
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i)
            __builtin_memcpy(place + i * lanes / parts, &part[i], width);
    }

#define THALWEG_OPERATOR(symbol)                                                         \
    THALWEG_INLINE friend Pack operator symbol(Pack x, Pack y) {                         \
        THALWEG_UNROLL                                                                   \
        for (int i = 0; i < parts; ++i) x.part[i] = x.part[i] symbol y.part[i];          \
        return x;                                                                        \
    }                                                                                    \
    THALWEG_INLINE friend Pack operator symbol(Pack x, T y) { return x symbol fill(y); } \
    THALWEG_INLINE friend Pack operator symbol(T x, Pack y) { return fill(x) symbol y; } \
    THALWEG_INLINE Pack& operator symbol## = (Pack y) { return *this = *this symbol y; } \
    THALWEG_INLINE Pack& operator symbol## = (T y) { return *this = *this symbol y; }

    THALWEG_OPERATOR(+)
    THALWEG_OPERATOR(-)
    THALWEG_OPERATOR(*)
    THALWEG_OPERATOR(/)
#undef THALWEG_OPERATOR

    THALWEG_INLINE friend Pack operator-(Pack x) { return fill(T(0)) - x; }
    /// The larger entries; those of y where x is NaN.
    THALWEG_INLINE friend Pack larger(Pack x, Pack y) {
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i) x.part[i] = x.part[i] > y.part[i] ? x.part[i] : y.part[i];
        return x;
    }
    THALWEG_INLINE friend Pack larger(Pack x, T y) { return larger(x, fill(y)); }
    /// The smaller entries; those of y where x is NaN.
    THALWEG_INLINE friend Pack smaller(Pack x, Pack y) {
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i) x.part[i] = x.part[i] < y.part[i] ? x.part[i] : y.part[i];
        return x;
    }
    THALWEG_INLINE friend Pack smaller(Pack x, T y) { return smaller(x, fill(y)); }
    THALWEG_INLINE friend Pack modulus(Pack x) { return larger(x, -x); }
    /// 1 where x > y, 0 elsewhere.
    THALWEG_INLINE friend Pack above(Pack x, Pack y) {
        const Register one = Register{} + T(1);
        THALWEG_UNROLL
        for (int i = 0; i < parts; ++i) x.part[i] = x.part[i] > y.part[i] ? one : Register{};
        return x;
    }
    THALWEG_INLINE friend Pack above(Pack x, T y) { return above(x, fill(y)); }
    THALWEG_INLINE friend Pack above(T x, Pack y) { return above(fill(x), y); }

    /// One half of the entries.
    THALWEG_INLINE Pack<T, Bytes / 2> half(int which) const {
        Pack<T, Bytes / 2> x;
        if constexpr (parts > 1)
            for (int i = 0; i < x.parts; ++i) x.part[i] = part[which * x.parts + i];
        else
            x.part[0] = half_register(which, std::make_integer_sequence<int, x.lanes>());
        return x;
    }
    template <int... Lane>
    THALWEG_INLINE auto half_register(int which, std::integer_sequence<int, Lane...>) const {
        const Register x = part[0];  // through memory it would take longer than the sum
        if (which == 0) return __builtin_shufflevector(x, x, Lane...);
        return __builtin_shufflevector(x, x, (lanes / 2 + Lane)...);
    }
    /// The sum of all entries, by halves.
    THALWEG_INLINE friend T total(Pack x) {
        if constexpr (Bytes > 16)
            return total(x.half(0) + x.half(1));
        else if constexpr (lanes == 2)
            return x.part[0][0] + x.part[0][1];
        else
            return (x.part[0][0] + x.part[0][2]) + (x.part[0][1] + x.part[0][3]);
    }
    /// The largest entry.
    THALWEG_INLINE friend T largest(Pack x) {
        if constexpr (Bytes > 16) {
            return largest(larger(x.half(0), x.half(1)));
        } else {
            T top = x.part[0][0];
            for (int i = 1; i < lanes; ++i) top = top > x.part[0][i] ? top : x.part[0][i];
            return top;
        }
    }
};

template <std::floating_point T>
THALWEG_INLINE T larger(T x, T y) {
    return x > y ? x : y;
}
template <std::floating_point T>
THALWEG_INLINE T smaller(T x, T y) {
    return x < y ? x : y;
}
template <std::floating_point T>
THALWEG_INLINE T modulus(T x) {
    return std::fabs(x);
}
template <std::floating_point T>
THALWEG_INLINE T above(T x, T y) {
    return x > y ? T(1) : T(0);
}

/// Where a loop is: at(x) reads entries of x there, as a Pack or as a number.
template <class Value>
struct Place {
    Index index;

    template <class T>
    THALWEG_INLINE Value operator()(Vector<T> x) const {
        if constexpr (std::floating_point<Value>) {
            return x[index];
        } else {
            THALWEG_REQUIRE(index + Value::lanes <= x.size);
            return Value::load(x.data + index);
        }
    }
    /// A number in all entries.
    template <class T>
    THALWEG_INLINE static Value constant(T number) {
        if constexpr (std::floating_point<Value>)
            return number;
        else
            return Value::fill(number);
    }
    template <class T>
    THALWEG_INLINE void store(Vector<T> x, Value value) const {
        if constexpr (std::floating_point<Value>) {
            x[index] = value;
        } else {
            THALWEG_REQUIRE(index + Value::lanes <= x.size);
            value.store(x.data + index);
        }
    }
};

/// Registers in the main part of a loop: enough independent sums to hide the latency of one.
inline constexpr int main_registers = 4;

/// Call f(at) for the entries from `done` on, in packs of the given bytes and then in smaller ones.
template <class T, int Bytes, class F>
THALWEG_INLINE void finish_each(Index done, Index n, F& f) {
    if constexpr (Bytes >= 16) {
        using Value = Pack<T, Bytes>;
        for (; done + Value::lanes <= n; done += Value::lanes) f(Place<Value>{done});
        constexpr bool main = Bytes > register_bytes;
        finish_each<T, main ? register_bytes : Bytes / 2>(done, n, f);
    } else {
        for (; done < n; ++done) f(Place<T>{done});
    }
}

/// Call f(at) for all entries 0, ..., n - 1, several at a time.
template <class T, class F>
THALWEG_INLINE void for_each(Index n, F f) {
    finish_each<T, main_registers * register_bytes>(0, n, f);
}

template <class T, int Bytes, class F>
THALWEG_INLINE T finish_sum(Index done, Index n, F& f) {
    if constexpr (Bytes >= 16) {
        using Value = Pack<T, Bytes>;
        constexpr int next = Bytes > register_bytes ? register_bytes : Bytes / 2;
        if (done + Value::lanes > n) return finish_sum<T, next>(done, n, f);
        Value value = Value::fill(T(0));
        for (; done + Value::lanes <= n; done += Value::lanes) value += f(Place<Value>{done});
        return total(value) + finish_sum<T, next>(done, n, f);
    } else {
        T value = 0;
        for (; done < n; ++done) value += f(Place<T>{done});
        return value;
    }
}

/// Return the sum of f(at) over all entries 0, ..., n - 1.
template <class T, class F>
THALWEG_INLINE T sum(Index n, F f) {
    return finish_sum<T, main_registers * register_bytes>(0, n, f);
}

/// The sum of values that a loop gives to add, for loops with several sums.
template <class T>
class Sum {
   public:
    template <class Value>
    THALWEG_INLINE void add(Value x) {
        if constexpr (std::same_as<Value, Main>)
            main_ += x;
        else if constexpr (std::same_as<Value, One>)
            one_ += x;
        else if constexpr (std::floating_point<Value>)
            rest_ += x;
        else
            rest_ += total(x);
    }
    THALWEG_INLINE T value() const { return (total(main_) + total(one_)) + rest_; }

   private:
    using Main = Pack<T, main_registers * register_bytes>;
    using One = Pack<T, register_bytes>;

    Main main_ = Main::fill(T(0));
    One one_ = One::fill(T(0));
    T rest_ = 0;
};

/// Return x'y.
template <class T>
THALWEG_INLINE T dot(Vector<const T> x, Vector<const T> y) {
    return sum<T>(x.size, [&](auto at) { return at(x) * at(y); });
}
template <class T>
THALWEG_INLINE T dot(Vector<T> x, Vector<T> y) {
    return dot(Vector<const T>(x), Vector<const T>(y));
}

/// Set y += factor x.
template <class T>
THALWEG_INLINE void add(std::type_identity_t<T> factor, Vector<const T> x,
                        std::type_identity_t<Vector<T>> y) {
    for_each<T>(x.size, [&](auto at) { at.store(y, at(y) + factor * at(x)); });
}
template <class T>
THALWEG_INLINE void add(std::type_identity_t<T> factor, Vector<T> x, Vector<T> y) {
    add<T>(factor, Vector<const T>(x), y);
}

/// Set all entries to a number.
template <class T>
THALWEG_INLINE void fill(Vector<T> x, std::type_identity_t<T> number) {
    for (Index i = 0; i < x.size; ++i) x[i] = number;
}
template <class T>
THALWEG_INLINE void fill(Matrix<T> A, std::type_identity_t<T> number) {
    for (Index i = 0; i < A.rows; ++i) fill(A[i], number);
}

/// Set y to x.
template <class S, class T>
THALWEG_INLINE void copy(Vector<S> x, Vector<T> y) {
    THALWEG_REQUIRE(x.size == y.size);
    for (Index i = 0; i < x.size; ++i) y[i] = static_cast<T>(x[i]);
}

}  // namespace
}  // namespace thalweg
