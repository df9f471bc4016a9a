// Constants of statistics that several kernels use.
#pragma once

namespace thalweg {

/// Standard deviation of a normal variable over the median of its modulus, 1 / Phi^-1(3/4).
inline constexpr double mad_to_standard_deviation = 1.482602218505602;

}  // namespace thalweg
