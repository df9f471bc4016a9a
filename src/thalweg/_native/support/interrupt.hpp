// Ctrl-C in a kernel: the loop over samples asks whether to stop.
#pragma once

#include <atomic>

namespace thalweg {

/// Thrown out of a kernel after Ctrl-C.
struct Interrupted {};

/// Set by the bindings: return whether a signal has arrived that ends the call.
extern bool (*signal_arrived)();

/// Set in the threads of the pool: whether the job is to be given up. Others ask for signals.
extern thread_local const std::atomic<bool>* give_up;

/// Throw Interrupted if a signal has arrived. Cheap enough for every sample: signals are looked
/// for a few times a second.
void interruption_point();

}  // namespace thalweg
