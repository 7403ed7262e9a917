// Creation, memory and threads of the CPU backend.
#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "ops/operators.h"

namespace inkstone::backend::cpu {
namespace {

TEST(CpuBackend, RefusesWhatItCannotRun) {
    for (const int threads : {-1, 0, 1025}) {
        const auto backend = CpuBackend::create(best_set(), threads);
        ASSERT_FALSE(backend.ok());
        EXPECT_EQ(backend.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(backend.error().message.find(std::to_string(threads)), std::string::npos);
    }
    for (const auto set : {InstructionSet::avx2, InstructionSet::avx512}) {
        if (supported(set)) continue;
        const auto backend = CpuBackend::create(set, 1);
        ASSERT_FALSE(backend.ok());
        EXPECT_EQ(backend.error().code, ErrorCode::unsupported);
        EXPECT_NE(backend.error().message.find(name_of(best_set())), std::string::npos);
    }
    EXPECT_EQ(supported_sets().front(), InstructionSet::reference);
    EXPECT_EQ((*CpuBackend::create(InstructionSet::portable, 3))->threads(), 3);
}

TEST(CpuBackend, MemoryIsAlignedAndZeroed) {
    const auto backend = std::move(*CpuBackend::create(best_set(), 1));
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{9} << 20}) {
        const auto memory = backend->allocate(bytes, "test");
        ASSERT_TRUE(memory.ok());
        EXPECT_EQ((*memory)->bytes(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*memory)->data()) % 64, 0U);
        for (std::size_t i = 0; i < bytes; i += 997) EXPECT_EQ((*memory)->data()[i], std::byte{0});
        if (bytes > 0) (*memory)->data()[bytes - 1] = std::byte{1};
    }
}

TEST(CpuBackend, TooMuchMemoryIsAnErrorWithItsPurpose) {
    const auto backend = std::move(*CpuBackend::create(best_set(), 1));
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 60}) {
        const auto memory = backend->allocate(bytes, "cached keys and values");
        ASSERT_FALSE(memory.ok());
        EXPECT_EQ(memory.error().code, ErrorCode::out_of_memory);
        EXPECT_EQ(memory.error().subject, "cached keys and values");
    }
}

TEST(CpuBackend, ParallelRunsEachItemOnce) {
    const auto backend = std::move(*CpuBackend::create(best_set(), 2));
    std::vector<std::atomic<int>> runs(100);
    backend->parallel(
        runs.size(),
        [](void* context, std::size_t item) { ++(*static_cast<std::vector<std::atomic<int>>*>(context))[item]; },
        &runs);
    for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(CpuBackend, RefusesBf16WhereAnOperatorHasNone) {
    using ops::ElementType, ops::Operator, ops::Rows;
    const auto backend = std::move(*CpuBackend::create(best_set(), 1));
    const auto refused = [&](const Operator& operation, const char* said) {
        const auto execution = backend->prepare(operation);
        ASSERT_FALSE(execution.ok()) << said;
        EXPECT_EQ(execution.error().code, ErrorCode::unsupported);
        EXPECT_EQ(execution.error().subject, ops::name_of(operation.parameters));
        EXPECT_NE(execution.error().message.find(said), std::string::npos) << execution.error().text();
        EXPECT_NE(execution.error().message.find("precision f32"), std::string::npos);
    };
    const auto operand = [](std::size_t width, ElementType type) { return ops::Operand{0, Rows::token, width, type}; };
    const ops::Operand f32 = operand(8, ElementType::f32), bf16 = operand(8, ElementType::bf16);
    const tensor::PackedMatrix matrix{tensor::WeightFormat::f32, 8, 8, nullptr};
    const float weight = 1;
    refused({ops::Gelu{}, {bf16}, {f32}, {}, {}}, "input 0 is bf16");
    refused({ops::Gelu{}, {f32}, {bf16}, {}, {}}, "the output is bf16");
    refused({ops::Linear{}, {bf16}, {f32}, {matrix}, {}}, "a matrix is not");
    refused({ops::Linear{ops::Epilogue::add}, {f32, bf16}, {f32}, {matrix}, {}}, "input 1 is bf16");
    refused({ops::RmsNorm{}, {operand(20000, ElementType::f32)}, {operand(20000, ElementType::bf16)}, {}, {&weight}},
            "20000 elements is written as bf16, expected at most 16384");
}

}  // namespace
}  // namespace inkstone::backend::cpu
