#include "support/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

#include "support/interrupt.hpp"

namespace thalweg {
namespace {

/// What the threads of one call share.
struct Job {
    Index n;
    void (*task)(void*, Index);
    void* context;
    std::atomic<Index> next{0};
    std::atomic<bool> stopped{false};
    std::mutex lock;
    std::exception_ptr error;

    /// Do tasks until none is left, or one has failed.
    void work() {
        try {
            for (Index i = next++; i < n && !stopped; i = next++) task(context, i);
        } catch (...) {
            fail(std::current_exception());
        }
    }

    void fail(std::exception_ptr reason) {
        const std::lock_guard guard(lock);
        if (!stopped) error = reason;
        stopped = true;
    }
};

// Between two looks for signals while other threads finish.
constexpr auto interval = std::chrono::milliseconds(50);
// How long threads stay awake for the next job, and the caller for the end of this one: threads
// that sleep begin late, up to 0.1 ms on virtual machines, and a batch has several short jobs.
// benchmark: threads
constexpr auto awake = std::chrono::milliseconds(1);

/// Tell the processor that this loop waits.
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Wait awake until done() is true, for a limited time. The processor is not yielded: on a busy
/// machine a thread that yields comes back after milliseconds.
template <class F>
void stay_awake(F&& done) {
    const auto end = std::chrono::steady_clock::now() + awake;
    while (!done() && std::chrono::steady_clock::now() < end)
        for (int i = 0; i < 16 && !done(); ++i) relax();
}

/// Threads that wait for jobs. They are started when first needed, and end with the process.
class Pool {
   public:
    /// Work on the job with up to `helpers` other threads; false if another call uses the pool.
    bool run(Job& job, int helpers) {
        if (in_use_.exchange(true, std::memory_order_acquire)) return false;
        start(helpers);
        {
            const std::lock_guard guard(lock_);
            job_ = &job;
            wanted_ = helpers;
            ++generation_;
        }
        wake_.notify_all();
        job.work();
        std::unique_lock guard(lock_);
        wanted_ = 0;  // threads that have not begun need not
        guard.unlock();
        stay_awake([&] { return busy_ == 0; });
        guard.lock();
        while (!idle_.wait_for(guard, interval, [&] { return busy_ == 0; })) {
            if (job.stopped) continue;  // the exception of a signal may be set already
            guard.unlock();
            if (signal_arrived()) job.fail(std::make_exception_ptr(Interrupted{}));
            guard.lock();
        }
        job_ = nullptr;
        guard.unlock();
        in_use_.store(false, std::memory_order_release);
        return true;
    }

   private:
    /// Start threads until there are `count`, or the system gives no more: fewer do the same work.
    void start(int count) {
        try {
            for (; started_ < count; ++started_) std::thread([this] { loop(); }).detach();
        } catch (const std::system_error&) {
            return;
        }
    }

    void loop() {
        unsigned long last = 0;
        for (;;) {
            stay_awake([&] { return generation_ != last; });
            std::unique_lock guard(lock_);
            wake_.wait(guard, [&] { return generation_ != last; });
            last = generation_;
            if (wanted_ == 0) continue;
            --wanted_;
            ++busy_;
            Job* job = job_;
            guard.unlock();
            give_up = &job->stopped;
            job->work();
            guard.lock();
            if (--busy_ == 0) idle_.notify_all();
        }
    }

    // Not a mutex: a task may ask for the pool that its own thread has in use.
    std::atomic<bool> in_use_{false};
    std::mutex lock_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    int started_ = 0;
    Job* job_ = nullptr;
    int wanted_ = 0;
    std::atomic<int> busy_{0};
    std::atomic<unsigned long> generation_{0};
};

// Never destroyed: threads wait in it until the process ends. A forked child has no threads of its
// parent, and begins with a pool of its own.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
    Pool* now = pool.load(std::memory_order_acquire);
    if (now != nullptr) return *now;
#if __has_include(<pthread.h>)
    static std::once_flag registered;
    std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, [] { pool = nullptr; }); });
#endif
    auto fresh = std::make_unique<Pool>();
    return pool.compare_exchange_strong(now, fresh.get()) ? *fresh.release() : *now;
}

thread_local int threads = 1;
std::atomic<int> process_limit{std::numeric_limits<int>::max()};

}  // namespace

int thread_count() { return threads; }

int set_thread_count(int count) { return std::exchange(threads, count > 1 ? count : 1); }

int thread_limit() { return process_limit; }

void set_thread_limit(int limit) { process_limit = limit > 1 ? limit : 1; }

void run_tasks(Index n, void (*task)(void*, Index), void* context) {
    Job job{n, task, context, {}, {}, {}, {}};
    const Index allowed = std::min(threads, process_limit.load());
    const Index helpers = std::min(allowed, n) - 1;
    if (helpers < 1 || !the_pool().run(job, static_cast<int>(helpers))) job.work();
    if (job.error) std::rethrow_exception(job.error);
}

}  // namespace thalweg
