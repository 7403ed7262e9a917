// A generation counter wakes workers; whoever comes while the job is open joins it, and the caller closes it when no
// item is left and waits for those inside.
#include "base/thread_pool.h"

#include <sched.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace inkstone {
namespace {

// About 20 microseconds: longer than the gaps between operators of a decode step, shorter than a time slice.
constexpr int kSpins = 1000;
constexpr std::uint32_t kOpen = 1U << 31;

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

int read_number(const std::string& path) {
    std::ifstream file(path);
    int number = -1;
    file >> number;
    return file ? number : -1;
}

}  // namespace

int physical_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    std::set<std::pair<int, int>> cores;
    int unknown = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        const int core = read_number(topology + "core_id");
        if (core < 0)
            ++unknown;
        else
            cores.emplace(read_number(topology + "physical_package_id"), core);
    }
    return std::max(1, static_cast<int>(cores.size()) + unknown);
}

ThreadPool::ThreadPool(int threads, std::size_t stack_bytes) {
    spins_ = threads <= physical_cores() ? kSpins : 0;
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    // The default size of a stack is the system's, and may be too small for kernels (ulimit -s, other C libraries).
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    for (int i = 1; i < threads; ++i) {
        pthread_t thread{};
        const auto work = [](void* pool) -> void* {
            static_cast<ThreadPool*>(pool)->worker();
            return nullptr;
        };
        // Refused by the limit of threads or of memory: those that came must still be joined.
        if (pthread_create(&thread, &attributes, work, this) != 0) break;
        workers_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
}

ThreadPool::~ThreadPool() {
    stopping_.store(true, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (const pthread_t thread : workers_) pthread_join(thread, nullptr);
}

void ThreadPool::take_items() {
    for (;;) {
        const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
        if (item >= items_) return;
        if (cancelled()) {
            skipped_.store(true, std::memory_order_relaxed);
            return;
        }
        call_(context_, item);
    }
}

bool ThreadPool::join() {
    std::uint32_t inside = inside_.load(std::memory_order_relaxed);
    while ((inside & kOpen) != 0)
        if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
    return false;
}

void ThreadPool::leave() {
    // The last one out of a closed job wakes the caller.
    if (inside_.fetch_sub(1, std::memory_order_release) == 1) inside_.notify_one();
}

bool ThreadPool::run_erased(std::size_t items, Call call, const void* context) {
    if (items == 0) return !cancelled();
    call_ = call;
    context_ = context;
    items_ = items;
    next_.store(0, std::memory_order_relaxed);
    skipped_.store(false, std::memory_order_relaxed);
    if (items == 1 || workers_.empty()) {
        take_items();
        return !skipped_.load(std::memory_order_relaxed);
    }
    inside_.store(kOpen, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    take_items();
    std::uint32_t inside = inside_.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
    for (int spin = 0; inside != 0; ++spin) {
        if (spin < spins_)
            pause();
        else
            inside_.wait(inside, std::memory_order_acquire);
        inside = inside_.load(std::memory_order_acquire);
    }
    return !skipped_.load(std::memory_order_relaxed);
}

void ThreadPool::worker() {
    std::uint32_t seen = 0;
    for (;;) {
        std::uint32_t generation = generation_.load(std::memory_order_acquire);
        for (int spin = 0; generation == seen; ++spin) {
            if (spin < spins_)
                pause();
            else
                generation_.wait(seen, std::memory_order_acquire);
            generation = generation_.load(std::memory_order_acquire);
        }
        seen = generation;
        if (stopping_.load(std::memory_order_relaxed)) return;
        if (!join()) continue;
        take_items();
        leave();
    }
}

}  // namespace inkstone
