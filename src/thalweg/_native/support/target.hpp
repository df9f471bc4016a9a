// Instruction sets. Each file of kernels/ is compiled once for every set, with THALWEG_TARGET as
// its name; bindings call the version for the processor.
//
// Code that is compiled for a set must have internal linkage or `Target` among its template
// arguments: the linker keeps one version of any other inline function, maybe that for a processor
// which is not there. cmake/check_symbols.py looks for such functions.
#pragma once

namespace thalweg {
namespace targets {

#ifdef THALWEG_X86_64
struct v2 {};  // SSE 4.2
struct v3 {};  // AVX2 and FMA
struct v4 {};  // AVX-512 F, BW, CD, DQ, VL
#else
struct generic {};
#endif

}  // namespace targets

#ifdef THALWEG_TARGET
/// The instruction set that this file is compiled for.
using Target = targets::THALWEG_TARGET;
#endif

/// Level of the instruction set in use: 2, 3 or 4 on x86-64, 0 elsewhere.
int target_level();

/// Use a lower level than that of the processor, for tests; raises nothing, and clamps.
void set_target_level(int level);

/// Call f.operator()<Target>() with the instruction set in use.
template <class F>
decltype(auto) on_target(F&& f) {
#ifdef THALWEG_X86_64
    switch (target_level()) {
        case 4:
            return f.template operator()<targets::v4>();
        case 3:
            return f.template operator()<targets::v3>();
        default:
            return f.template operator()<targets::v2>();
    }
#else
    return f.template operator()<targets::generic>();
#endif
}

}  // namespace thalweg
