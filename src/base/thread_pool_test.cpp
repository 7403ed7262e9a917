// Every item once, whatever the number of threads; cancelling leaves items out and says so.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace inkstone {

TEST(ThreadPool, EveryItemOnce) {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const std::size_t items : {0U, 1U, 2U, 3U, 64U, 1000U}) {
            std::vector<std::atomic<int>> count(items);
            EXPECT_TRUE(pool.run(items, [&](std::size_t item) { ++count[item]; }));
            for (const auto& times : count) EXPECT_EQ(times, 1);
        }
    }
}

TEST(ThreadPool, RefusedThreadsAreLeftOut) {
    ThreadPool pool(3, std::size_t{1} << 60);  // no address space holds such a stack
    EXPECT_EQ(pool.threads(), 1);
    int count = 0;
    EXPECT_TRUE(pool.run(5, [&](std::size_t) { ++count; }));
    EXPECT_EQ(count, 5);
}

TEST(ThreadPool, ManyShortJobs) {
    ThreadPool pool(3);
    std::atomic<std::size_t> sum{0};
    for (int job = 0; job < 2000; ++job) pool.run(4, [&](std::size_t item) { sum += item; });
    EXPECT_EQ(sum, 2000U * 6);
}

// As in decoding: bursts of short jobs of all sizes, and pauses after which threads sleep.
TEST(ThreadPool, BurstsAndPauses) {
    for (const int threads : {2, 3, 8}) {
        ThreadPool pool(threads);
        for (int burst = 0; burst < 40; ++burst) {
            for (std::size_t items = 0; items < 40; ++items) {
                std::atomic<std::size_t> sum{0};
                ASSERT_TRUE(pool.run(items, [&](std::size_t item) { sum += item + 1; }));
                ASSERT_EQ(sum, items * (items + 1) / 2);
            }
            std::this_thread::sleep_for(std::chrono::microseconds(burst % 4 * 100));
        }
    }
}

// What a job wrote is seen by the next one, whichever thread runs it.
TEST(ThreadPool, JobsFollowEachOther) {
    ThreadPool pool(4);
    // No atomics: a job reads what another one wrote, and each item is one thread's.
    std::vector<int> from(64, 0), to(64, 0);
    for (int job = 0; job < 4000; ++job) {
        pool.run(from.size(), [&](std::size_t item) { to[item] = from[(item + 7) % 64] + 1; });
        from.swap(to);
    }
    EXPECT_EQ(from, std::vector<int>(64, 4000));
}

// More threads than processors do not all run: those that the system would only switch between stay asleep.
TEST(ThreadPool, NoMoreThreadsAtOnceThanProcessors) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const int processors = CPU_COUNT(&allowed);
    ThreadPool pool(processors + 6);
    // Threads that were just started may run once more before they sleep.
    for (int job = 0; job < 100; ++job) pool.run(16, [](std::size_t) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    int most = 0;
    std::atomic<int> inside{0}, seen{0};
    for (int job = 0; job < 20; ++job) {
        seen = 0;
        pool.run(64, [&](std::size_t) {
            const int now = ++inside;
            for (int before = seen; before < now && !seen.compare_exchange_weak(before, now);) {
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            --inside;
        });
        most = std::max(most, seen.load());
    }
    EXPECT_LE(most, processors);
    EXPECT_GE(most, std::min(processors, 2));
}

TEST(ThreadPool, CancelLeavesItemsOut) {
    for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        std::atomic<bool> cancel{false};
        pool.set_cancel(&cancel);
        std::atomic<int> done{0};
        EXPECT_FALSE(pool.run(100000, [&](std::size_t) {
            if (++done == 10) cancel = true;
        }));
        EXPECT_LT(done, 100000);
        EXPECT_FALSE(pool.run(0, [](std::size_t) {}));
        cancel = false;
        EXPECT_TRUE(pool.run(5, [](std::size_t) {}));
    }
}

// Cancelled while several threads are inside: what was claimed is counted once, and the next job is whole.
TEST(ThreadPool, CancelWhileAllWork) {
    ThreadPool pool(3);
    std::atomic<bool> cancel{false};
    pool.set_cancel(&cancel);
    for (int round = 0; round < 300; ++round) {
        std::atomic<int> done{0};
        cancel = false;
        pool.run(50, [&](std::size_t) {
            if (++done == round % 60) cancel = true;
        });
        EXPECT_LE(done, 50);
        cancel = false;
        std::atomic<int> all{0};
        EXPECT_TRUE(pool.run(50, [&](std::size_t) { ++all; }));
        EXPECT_EQ(all, 50);
    }
}

TEST(ThreadPool, CountsCores) {
    EXPECT_GE(physical_cores(), 1);
    EXPECT_LE(physical_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace inkstone
