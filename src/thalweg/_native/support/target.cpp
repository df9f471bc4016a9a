#include "support/target.hpp"

#include <algorithm>
#include <atomic>

#ifdef THALWEG_X86_64
#include <cpuid.h>
#endif

namespace thalweg {
namespace {

#ifdef THALWEG_X86_64

// Bits of CPUID, by leaf and register; Intel's manual, volume 2A.
constexpr unsigned leaf1_ecx_v3 = 1U << 12 | 1U << 22 | 1U << 27 | 1U << 28 | 1U << 29;
// ...                            FMA        MOVBE      OSXSAVE    AVX        F16C
constexpr unsigned leaf7_ebx_v3 = 1U << 3 | 1U << 5 | 1U << 8;
// ...                            BMI1      AVX2      BMI2
constexpr unsigned leaf7_ebx_v4 = 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
// ...                            AVX-512 F  DQ         CD         BW         VL
constexpr unsigned extended_ecx_v3 = 1U << 5;  // LZCNT

// Bits of XCR0: registers that the operating system saves.
constexpr unsigned saves_ymm = 0x6;
constexpr unsigned saves_zmm = 0xe6;

bool has(unsigned value, unsigned bits) { return (value & bits) == bits; }

/// Asked for here, because not every compiler's run-time library has __builtin_cpu_supports.
int detect() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || !has(ecx, leaf1_ecx_v3)) return 2;
    unsigned saved = 0, upper = 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    if (__get_cpuid(0x80000001U, &eax, &ebx, &ecx, &edx) == 0 || !has(ecx, extended_ecx_v3))
        return 2;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return 2;
    if (!has(ebx, leaf7_ebx_v3) || !has(saved, saves_ymm)) return 2;
    return has(ebx, leaf7_ebx_v4) && has(saved, saves_zmm) ? 4 : 3;
}

#else

int detect() { return 0; }

#endif

std::atomic<int> current{detect()};

}  // namespace

int target_level() { return current.load(std::memory_order_relaxed); }

void set_target_level(int level) { current = std::min(level, detect()); }

}  // namespace thalweg
