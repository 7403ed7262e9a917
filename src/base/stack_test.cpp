// The stack that is left shrinks with what is used, and follows the size that a thread was given.
#include "base/stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/thread_pool.h"

namespace inkstone {
namespace {

// On a thread with a stack of this size.
std::size_t left_of(std::size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    std::size_t left = 0;
    pthread_t thread;
    EXPECT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* result) -> void* {
                      *static_cast<std::size_t*>(result) = stack_left().value_or(0);
                      return nullptr;
                  },
                  &left),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return left;
}

[[gnu::noinline]] std::size_t left_behind_a_block() {
    volatile char block[50000];
    block[0] = 1;
    return stack_left().value_or(0) + static_cast<std::size_t>(block[0]) - 1;
}

TEST(Stack, WhatIsLeft) {
    for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{1} << 20}) {
        EXPECT_LT(left_of(bytes), 4 * bytes);  // the C library may lend a larger one that it kept
#if !defined(__SANITIZE_THREAD__)              // which keeps its own data of each thread there
        EXPECT_GT(left_of(bytes), bytes - (std::size_t{32} << 10));
#endif
    }
    EXPECT_LE(left_behind_a_block() + 50000, stack_left().value_or(0));
}

// Whatever the default of the system: workers have what kernels need.
TEST(Stack, WorkersHaveEnough) {
    pthread_attr_t before, small;
    ASSERT_EQ(pthread_getattr_default_np(&before), 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, std::size_t{128} << 10);
    ASSERT_EQ(pthread_setattr_default_np(&small), 0);
    {
        ThreadPool pool(3);
        const pthread_t caller = pthread_self();
        std::atomic<std::size_t> least{SIZE_MAX}, by_workers{0};
        for (int job = 0; job < 1000 && by_workers < 10; ++job)
            pool.run(64, [&](std::size_t) {
                std::this_thread::sleep_for(std::chrono::microseconds(50));  // so that all come
                if (pthread_equal(pthread_self(), caller) != 0) return;
                ++by_workers;
                const std::size_t left = stack_left().value_or(0);
                for (std::size_t known = least; left < known && !least.compare_exchange_weak(known, left);) {
                }
            });
        ASSERT_GT(by_workers.load(), 0U);
        EXPECT_GE(least.load(), kNeededStackBytes);
    }
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
    pthread_attr_destroy(&small);
}

}  // namespace
}  // namespace inkstone
