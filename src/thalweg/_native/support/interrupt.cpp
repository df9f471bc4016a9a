#include "support/interrupt.hpp"

#include <chrono>

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks: Ctrl-C is answered fast, and the interpreter is rarely asked.
constexpr auto interval = std::chrono::milliseconds(50);

bool no_signal() { return false; }

}  // namespace

bool (*signal_arrived)() = no_signal;
thread_local const std::atomic<bool>* give_up = nullptr;

void interruption_point() {
    if (give_up != nullptr) {
        if (*give_up) throw Interrupted{};
        return;
    }
    thread_local Clock::time_point next = Clock::now() + interval;
    const Clock::time_point now = Clock::now();
    if (now < next) return;
    next = now + interval;
    if (signal_arrived()) throw Interrupted{};
}

}  // namespace thalweg
