// One word holds what is left of a job: whoever claims an item from it knows that the job is not over, since the caller
// waits until every claimed item has ended. A worker counts its items once, when it finds no more.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
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
constexpr std::uint64_t kOneItem = std::uint64_t{1} << 32;  // of job_

std::uint64_t next_of(std::uint64_t job) { return job >> 32; }
std::uint64_t items_of(std::uint64_t job) { return job & (kOneItem - 1); }
bool has_items(std::uint64_t job) { return next_of(job) < items_of(job); }

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

// Logical processors that this process may run on, at least 1.
int processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return physical_cores();
    return std::max(1, CPU_COUNT(&allowed));
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
    const int active = std::min(threads, processors());
    most_awake_ = static_cast<std::uint32_t>(active - 1);
    spins_ = active <= physical_cores() ? kSpins : 0;
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
        started_.fetch_add(1, std::memory_order_seq_cst);
    }
    pthread_attr_destroy(&attributes);
}

ThreadPool::~ThreadPool() {
    stopping_.store(true, std::memory_order_seq_cst);
    wake(started_.load(std::memory_order_seq_cst));
    for (const pthread_t thread : workers_) pthread_join(thread, nullptr);
}

// All items that a call takes are of one job: no other can come before they are counted.
void ThreadPool::take_items() {
    std::uint32_t taken = 0;
    std::uint64_t job;
    for (;;) {
        job = job_.fetch_add(kOneItem, std::memory_order_acq_rel);
        if (!has_items(job)) break;
        if (cancelled()) {
            // The rest is claimed at once. Items that others claim meanwhile are theirs to count.
            const std::uint64_t items = items_of(job);
            const std::uint64_t rest = job_.exchange(items << 32 | items, std::memory_order_acq_rel);
            skipped_.store(true, std::memory_order_relaxed);
            taken += 1 + static_cast<std::uint32_t>(has_items(rest) ? items - next_of(rest) : 0);
            break;
        }
        call_(context_, next_of(job));
        ++taken;
    }
    // Whoever counts the last one wakes the caller, if it went to sleep.
    if (taken > 0 && done_.fetch_add(taken, std::memory_order_acq_rel) + taken == items_of(job)) done_.notify_one();
}

bool ThreadPool::run_erased(std::size_t items, Call call, const void* context) {
    assert(items < kOneItem / 2);
    if (items == 0) return !cancelled();
    skipped_.store(false, std::memory_order_relaxed);
    if (items == 1 || workers_.empty()) {
        for (std::size_t item = 0; item < items; ++item) {
            if (cancelled()) return false;
            call(context, item);
        }
        return true;
    }
    call_ = call;
    context_ = context;
    done_.store(0, std::memory_order_relaxed);
    job_.store(items, std::memory_order_seq_cst);
    wake(static_cast<std::uint32_t>(std::min<std::size_t>(items - 1, most_awake_)));
    take_items();
    std::uint32_t done = done_.load(std::memory_order_acquire);
    for (int spin = 0; done != items; ++spin) {
        if (spin < spins_)
            pause();
        else
            done_.wait(done, std::memory_order_acquire);
        done = done_.load(std::memory_order_acquire);
    }
    return !skipped_.load(std::memory_order_relaxed);
}

std::uint32_t ThreadPool::awake() const {
    const std::uint32_t started = started_.load(std::memory_order_seq_cst);
    const std::uint32_t sleeping = sleeping_.load(std::memory_order_seq_cst);
    return started > sleeping ? started - sleeping : 0;
}

// Wakes sleeping workers until so many are awake.
void ThreadPool::wake(std::uint32_t wanted) {
    std::uint32_t sleeping = sleeping_.load(std::memory_order_seq_cst);
    for (;;) {
        const std::uint32_t started = started_.load(std::memory_order_relaxed);
        if (sleeping == 0 || started - sleeping >= wanted) return;
        const std::uint32_t count = std::min(sleeping, wanted - (started - sleeping));
        if (!sleeping_.compare_exchange_weak(sleeping, sleeping - count, std::memory_order_seq_cst)) continue;
        tokens_.fetch_add(count, std::memory_order_release);
        count == 1 ? tokens_.notify_one() : tokens_.notify_all();
        return;
    }
}

// Returns when woken, or when this worker has something to do after all. A job is never lost by sleeping through it:
// the caller works too.
void ThreadPool::sleep() {
    std::uint32_t sleeping = sleeping_.fetch_add(1, std::memory_order_seq_cst) + 1;
    const bool wanted = has_items(job_.load(std::memory_order_seq_cst)) && awake() < most_awake_;
    if (wanted || stopping_.load(std::memory_order_seq_cst)) {
        while (sleeping > 0)
            if (sleeping_.compare_exchange_weak(sleeping, sleeping - 1, std::memory_order_seq_cst)) return;
        // Whoever took the count has left a token for it.
    }
    std::uint32_t tokens = tokens_.load(std::memory_order_relaxed);
    for (;;) {
        if (tokens == 0) {
            tokens_.wait(0, std::memory_order_relaxed);
            tokens = tokens_.load(std::memory_order_relaxed);
        } else if (tokens_.compare_exchange_weak(tokens, tokens - 1, std::memory_order_acquire)) {
            return;
        }
    }
}

void ThreadPool::worker() {
    for (int spin = 0; !stopping_.load(std::memory_order_relaxed);) {
        if (has_items(job_.load(std::memory_order_relaxed))) {
            take_items();
            spin = awake() > most_awake_ ? spins_ : 0;
        } else if (spin < spins_) {
            pause();
            ++spin;
        } else {
            sleep();
            spin = 0;
        }
    }
}

}  // namespace inkstone
