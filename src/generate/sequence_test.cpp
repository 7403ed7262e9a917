// Tokens, positions and what is cached stay in step through appending and cropping.
#include "generate/sequence.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"

namespace inkstone::generate {
namespace {

TEST(Sequence, AppendCropAppend) {
    const auto backend = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 1));
    module::KvPool pool(*backend, {1, 1, 16});
    Sequence sequence(pool, 2);
    const std::int32_t ids[] = {5, 6, 7}, positions[] = {0, 0, 1, 9, 2, 8};
    sequence.append(ids, positions);
    const float rows[8] = {};
    sequence.set_visual(1, 2, rows, 4);
    sequence.append(8);
    EXPECT_EQ(std::vector(sequence.positions().begin(), sequence.positions().end()),
              (std::vector<std::int32_t>{0, 0, 1, 9, 2, 8, 3, 3}));
    EXPECT_EQ(sequence.visual(0), nullptr);
    EXPECT_EQ(sequence.visual(2), rows + 4);
    EXPECT_EQ(sequence.visual(3), nullptr);
    EXPECT_EQ(sequence.visual(1000), nullptr);

    sequence.set_cached(4);
    sequence.crop(10);
    EXPECT_EQ(sequence.size(), 4U);
    sequence.crop(2);
    EXPECT_EQ(sequence.cached(), 2U);
    EXPECT_EQ(sequence.size(), 2U);
    EXPECT_EQ(sequence.positions().size(), 4U);
    sequence.append(9);
    EXPECT_EQ(sequence.visual(2), nullptr);  // the new token has no visual row
    EXPECT_EQ(sequence.positions().back(), 2);
    sequence.crop(0);
    EXPECT_EQ(sequence.size() + sequence.cached(), 0U);
}

TEST(Sequence, ReserveTakesPagesAndTheyGoBack) {
    const auto backend = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 1));
    module::KvPool pool(*backend, {1, 1, 16});
    {
        Sequence sequence(pool, 4);
        ASSERT_TRUE(sequence.reserve(129).ok());
        EXPECT_EQ(pool.pages_lent(), 3U);
        const Sequence moved = std::move(sequence);
        EXPECT_EQ(pool.pages_lent(), 3U);
    }
    EXPECT_EQ(pool.pages_lent(), 0U);
}

}  // namespace
}  // namespace inkstone::generate
