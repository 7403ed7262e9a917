// A fixed pool of threads that share the items of one job at a time. Chunks are taken dynamically; the caller works
// too. Idle threads spin briefly, and only while threads <= cores, then sleep: 4 threads on 2 cores must not collapse.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/stack.h"

namespace inkstone {

// Number of physical cores that this process may run on, at least 1.
int physical_cores();

class ThreadPool {
public:
    // More than a caller needs: instrumented builds have larger frames, and the C library keeps thread-local data
    // there.
    static constexpr std::size_t kWorkerStackBytes = 4 * kNeededStackBytes;

    // threads >= 1, the caller's included. Workers get stacks of this size, whatever the system's default. Where the
    // system refuses a thread, the pool has those before it: see threads().
    explicit ThreadPool(int threads, std::size_t stack_bytes = kWorkerStackBytes);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Looked at before every item of later jobs; null for none. Not to be changed while a job runs.
    void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }
    bool cancelled() const { return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed); }

    // Calls work(item) once for each item in [0, items), from all threads, and returns when all are done. False when
    // cancelled: some items were then left out. One job at a time: calls from several threads must be serialised by the
    // caller. Allocates nothing. work must not throw.
    template <class Work>
    bool run(std::size_t items, const Work& work) {
        return run_erased(
            items, [](const void* context, std::size_t item) { (*static_cast<const Work*>(context))(item); }, &work);
    }

private:
    using Call = void (*)(const void*, std::size_t);
    bool run_erased(std::size_t items, Call call, const void* context);
    void take_items();
    void worker();
    bool join();
    void leave();

    // The job. Written while it is closed and no worker is inside, read by workers that have joined.
    Call call_ = nullptr;
    const void* context_ = nullptr;
    std::size_t items_ = 0;
    int spins_ = 0;
    const std::atomic<bool>* cancel_ = nullptr;
    std::vector<pthread_t> workers_;
    alignas(64) std::atomic<std::size_t> next_{0};
    alignas(64) std::atomic<std::uint32_t> generation_{0};  // raised with every job: what idle workers watch
    alignas(64) std::atomic<std::uint32_t> inside_{0};      // kOpen while workers may join, plus how many are inside
    std::atomic<bool> skipped_{false};                      // an item of this job was left out
    std::atomic<bool> stopping_{false};
};

}  // namespace inkstone
