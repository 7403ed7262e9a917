// Every item once, whatever the number of threads; cancelling leaves items out and says so.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

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

TEST(ThreadPool, CountsCores) {
    EXPECT_GE(physical_cores(), 1);
    EXPECT_LE(physical_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace inkstone
