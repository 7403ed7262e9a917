// A fixed pool of threads that share the items of one job at a time. Items are taken dynamically; the caller works too.
// Idle threads spin briefly, then sleep. Of more threads than processors as many sleep on: each of those could only
// take another's place in the middle of an item, and 4 threads on 2 cores must not collapse.
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
    static constexpr std::size_t kWorkerStackBytes = 8 * kNeededStackBytes;

    // threads >= 1, the caller's included. Workers get stacks of this size, whatever the system's default. Where the
    // system refuses a thread, the pool has those before it: see threads().
    explicit ThreadPool(int threads, std::size_t stack_bytes = kWorkerStackBytes);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Looked at before every item of later jobs, one or the other cancels; null for none. Not to be changed while a job
    // runs.
    void set_cancel(const std::atomic<bool>* cancel, const std::atomic<bool>* expired = nullptr) {
        cancel_ = cancel;
        expired_ = expired;
    }
    bool cancelled() const {
        return (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) ||
               (expired_ != nullptr && expired_->load(std::memory_order_relaxed));
    }

    // Calls work(item) once for each item in [0, items), from all threads, and returns when all are done. False when
    // cancelled: some items were then left out. items < 2^31. One job at a time: calls from several threads must be
    // serialised by the caller. Allocates nothing. work must not throw.
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
    std::uint32_t awake() const;
    void sleep();
    void wake(std::uint32_t wanted);

    // What an idle worker watches, on the one line that it fetches when a job comes. job_ holds the next item in its
    // upper half and the number of items in its lower one; an item is claimed by one addition. call_ and context_ are
    // written while no item can be claimed, and read after a claim.
    alignas(64) std::atomic<std::uint64_t> job_{0};
    Call call_ = nullptr;
    const void* context_ = nullptr;
    alignas(64) std::atomic<std::uint32_t> done_{0};  // items of the job that have ended
    std::atomic<bool> skipped_{false};                // an item of the job was left out
    // Workers that wait, or soon will, for a token of tokens_.
    alignas(64) std::atomic<std::uint32_t> sleeping_{0};
    std::atomic<std::uint32_t> tokens_{0};
    std::atomic<std::uint32_t> started_{0};  // workers
    std::atomic<bool> stopping_{false};
    alignas(64) const std::atomic<bool>* cancel_ = nullptr;
    const std::atomic<bool>* expired_ = nullptr;
    int spins_ = 0;
    std::uint32_t most_awake_ = 0;  // workers that may be awake at a time
    std::vector<pthread_t> workers_;
};

}  // namespace inkstone
