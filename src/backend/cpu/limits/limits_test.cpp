// The limits of the machine: loops that compute what they say, samples that are plausible. No time is asserted.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/limits/machine_limits.h"

namespace inkstone::backend::cpu {
namespace {

TEST(PeakLoop, EachSetHasTheInstructionsOfItsKernels) {
    for (const InstructionSet set : supported_sets()) {
        const auto f32 = peak_loop(Arithmetic::f32, set);
        ASSERT_TRUE(f32) << name_of(set);
        EXPECT_EQ(peak_loop(Arithmetic::bf16, set).has_value(), set == InstructionSet::avx512_bf16);
        for (const Arithmetic arithmetic : {Arithmetic::f32, Arithmetic::bf16, Arithmetic::int8}) {
            const auto loop = peak_loop(arithmetic, set);
            if (!loop) continue;
            ASSERT_NE(loop->run, nullptr);
            // The registers' width is in the name; a multiplication and an addition are two operations.
            const bool wide = loop->instruction.ends_with("zmm"), middle = loop->instruction.ends_with("ymm");
            const double bytes = wide ? 64 : middle ? 32 : 16;
            const double size = arithmetic == Arithmetic::f32 ? 4 : arithmetic == Arithmetic::bf16 ? 2 : 1;
            EXPECT_EQ(loop->operations_per_step, 12 * bytes / size * 2) << loop->instruction;
            for (const long steps : {-1L, 0L, 1L, 1000L}) loop->run(steps);  // ends, also without steps
        }
    }
}

TEST(PeakLoop, LeavesRegistersOfTheCallerAlone) {
    volatile float three = 3, four = 4;
    const float before = three * four;
    for (const InstructionSet set : supported_sets()) peak_loop(Arithmetic::f32, set)->run(10);
    EXPECT_EQ(before, three * four);
}

// Every byte counts in every pattern: a change of any one changes the result.
TEST(ReadOnce, ReadsEveryByteOnce) {
    constexpr std::size_t kBytes = 8 * 1024;
    std::vector<std::byte> memory(kBytes);
    for (const int streams : {1, 2, 4, kMostStreams}) {
        for (const bool prefetch : {false, true}) {
            std::fill(memory.begin(), memory.end(), std::byte{0});
            EXPECT_EQ(read_once(memory.data(), kBytes, streams, prefetch), 0U);
            for (std::size_t i = 0; i < kBytes; ++i) {
                memory[i] = std::byte{1};
                ASSERT_NE(read_once(memory.data(), kBytes, streams, prefetch), 0U) << streams << " streams, byte " << i;
                memory[i] = std::byte{0};
            }
        }
    }
}

TEST(Samples, BestAndMedian) {
    Samples samples;
    EXPECT_EQ(samples.best(), 0);
    EXPECT_EQ(samples.median(), 0);
    EXPECT_EQ(samples.last(), 0);
    for (const double speed : {3.0, 9.0, 1.0}) samples.add(speed);
    EXPECT_EQ(samples.best(), 9);
    EXPECT_EQ(samples.median(), 3);
    EXPECT_EQ(samples.last(), 1);
    Samples more;
    more.add(4);
    more.add(samples);
    EXPECT_EQ(more.count(), 4U);
    EXPECT_EQ(more.median(), 3.5);
}

TEST(MachineLimits, SamplesOnOneAndTwoThreads) {
    const auto region = std::move(*ReadRegion::create());
    EXPECT_EQ(region->memory(true)[ReadRegion::kBytes - 1], std::byte{1});
    EXPECT_EQ(region->memory(false)[ReadRegion::kBytes - 1], std::byte{1});
    for (const int threads : {1, 2}) {
        const auto backend = std::move(*CpuBackend::create(best_set(), threads));
        MachineLimits limits(*backend, *region);
        Samples reading, arithmetic;
        ASSERT_TRUE(limits.sample_reading(reading));
        ASSERT_TRUE(limits.sample_reading(reading));
        ASSERT_TRUE(limits.sample_arithmetic(*peak_loop(Arithmetic::f32, best_set()), arithmetic));
        EXPECT_EQ(reading.count(), 2U);
        EXPECT_GT(reading.median(), 0.1);  // GB/s
        EXPECT_LT(reading.best(), 1e5);
        EXPECT_GT(arithmetic.median(), 0.1);  // GFLOP/s
        EXPECT_LT(arithmetic.best(), 1e5);

        std::atomic<bool> cancel{true};
        backend->set_cancel(&cancel);
        EXPECT_FALSE(limits.sample_reading(reading));
        EXPECT_FALSE(limits.sample_arithmetic(*peak_loop(Arithmetic::f32, best_set()), arithmetic));
        EXPECT_EQ(reading.count(), 2U);
        EXPECT_EQ(arithmetic.count(), 1U);
    }
}

}  // namespace
}  // namespace inkstone::backend::cpu
