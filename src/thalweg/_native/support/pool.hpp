// A small pool of threads for independent parts of a batch.
#pragma once

#include <utility>

#include "support/array.hpp"

namespace thalweg {

/// Threads that kernels called from this thread may use; 1 unless set.
int thread_count();

/// Set the number of threads for kernels called from this thread; return the one before.
int set_thread_count(int count);

/// Largest number of threads of any call in the process; no limit unless set.
int thread_limit();

/// Set the largest number of threads of any call in the process.
void set_thread_limit(int limit);

/// Call task(context, i) for i = 0, ..., n - 1 on up to thread_count() threads, within the limit
/// of the process; this thread is one of them.
///
/// Tasks must not depend on one another, and each must do the same whatever thread it runs on: then
/// results do not depend on the number of threads. If the pool is in use, this thread does all.
/// The first exception of a task is thrown here after all threads have stopped.
void run_tasks(Index n, void (*task)(void* context, Index i), void* context);

namespace {

/// Call f(i) for i = 0, ..., n - 1; see run_tasks.
template <class F>
void parallel_for(Index n, F&& f) {
    run_tasks(
        n, [](void* context, Index i) { (*static_cast<F*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(&f)));
}

/// Call f(begin, end) for blocks of `size` out of n samples; see run_tasks.
template <class F>
void parallel_blocks(Index n, Index size, F&& f) {
    parallel_for((n + size - 1) / size, [&](Index i) {
        const Index begin = i * size;
        f(begin, begin + size < n ? begin + size : n);
    });
}

}  // namespace
}  // namespace thalweg
