// Pages are lent, given back and lent again; what is freed with a sequence is used by the next.
#include "module/kv_pool.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"

namespace inkstone::module {
namespace {

TEST(KvPool, PagesComeBackAndAreReused) {
    const auto backend = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 1));
    KvPool pool(*backend, {2, 1, 24});
    EXPECT_EQ(pool.page_bytes(), 2U * (24 + 32) * 64 * 4);
    EXPECT_EQ(KvPool(*backend, {2, 1, 24, tensor::KvStorage::bf16}).page_bytes(), pool.page_bytes() / 2);
    {
        KvPages first(pool), second(pool);
        ASSERT_TRUE(first.reserve(64).ok());
        EXPECT_EQ(pool.pages_lent(), 1U);
        ASSERT_TRUE(first.reserve(65).ok());
        ASSERT_TRUE(second.reserve(1).ok());
        EXPECT_EQ(pool.pages_lent(), 3U);
        EXPECT_EQ(first.positions(), 128U);
        EXPECT_NE(first.blocks()[0], second.blocks()[0]);
        KvPages moved(std::move(first));
        EXPECT_EQ(first.positions(), 0U);  // NOLINT: a moved-from object holds nothing
        EXPECT_EQ(moved.positions(), 128U);
        moved.crop(64);
        EXPECT_EQ(pool.pages_lent(), 2U);
        moved.crop(64);
        EXPECT_EQ(pool.pages_lent(), 2U);
        ASSERT_TRUE(moved.reserve(0).ok());
        EXPECT_EQ(pool.pages_lent(), 2U);
    }
    EXPECT_EQ(pool.pages_lent(), 0U);
    const std::size_t held = pool.bytes();
    KvPages again(pool);
    ASSERT_TRUE(again.reserve(3 * 64).ok());
    EXPECT_EQ(pool.bytes(), held);
}

}  // namespace
}  // namespace inkstone::module
