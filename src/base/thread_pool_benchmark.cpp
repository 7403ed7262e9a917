// What a job of the thread pool costs beside its work, by number of threads, more of them than cores included.
//     cmake --build --preset release --target thread_pool_benchmark && build/release/bin/thread_pool_benchmark
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace inkstone {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// A loop that the compiler cannot shorten, about `steps` nanoseconds.
void work(long steps) {
    for (long step = 0; step < steps; ++step) asm volatile("" : : "r"(step) : "memory");
}

// Gives each of the pool's threads a processor of its own, while there are enough: otherwise the system puts two on one
// when neighbours are busy.
void pin(ThreadPool& pool) {
    if (pool.threads() > physical_cores()) return;
    const auto threads = static_cast<std::size_t>(pool.threads());
    std::atomic<std::size_t> arrived{0};
    pool.run(threads, [&](std::size_t item) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(item, &set);
        sched_setaffinity(0, sizeof set, &set);
        for (++arrived; arrived < threads;) std::this_thread::yield();  // so that no thread takes two items
    });
}

// Jobs one after the other, as a decoding step has them: `items` pieces of `steps` each, and as much again by the
// caller alone between jobs. Prints the best, the median and the worst of series of a hundred jobs.
void measure(int threads, std::size_t items, long steps) {
    ThreadPool pool(threads);
    pin(pool);
    constexpr int kJobs = 100;
    constexpr double kSeconds = 0.3;
    std::vector<double> times;
    for (const auto begin = Clock::now(); microseconds(Clock::now() - begin) < kSeconds * 1e6;) {
        const auto start = Clock::now();
        for (int job = 0; job < kJobs; ++job) {
            pool.run(items, [&](std::size_t) { work(steps); });
            work(steps);
        }
        times.push_back(microseconds(Clock::now() - start) / kJobs);
    }
    const auto start = Clock::now();
    for (int job = 0; job < kJobs; ++job) work(steps);
    const double piece = microseconds(Clock::now() - start) / kJobs;
    std::sort(times.begin(), times.end());
    std::printf(
        "%d threads, %2zu items of %7.2f us: best %8.2f us, median %8.2f, worst %8.2f; one thread's work %8.2f\n",
        threads, items, piece, times.front(), times[times.size() / 2], times.back(),
        piece * static_cast<double>(items + 1));
    std::fflush(stdout);
}

}  // namespace
}  // namespace inkstone

int main() {
    cpu_set_t all;  // a pinned caller is set free again between cases
    sched_getaffinity(0, sizeof all, &all);
    std::printf("%d cores\n", inkstone::physical_cores());
    for (const long steps : {0L, 2'000L, 20'000L})
        for (const int threads : {1, 2, 4, 8})
            for (const std::size_t items : {2UL, 16UL}) {
                inkstone::measure(threads, items, steps);
                sched_setaffinity(0, sizeof all, &all);
            }
}
