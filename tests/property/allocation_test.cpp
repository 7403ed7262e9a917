// The decode loop allocates nothing: operator new is counted in this program, and once the first steps have made their
// plans no step calls it, with one token a step or a block of candidates, on one thread or several.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "whole_model.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace inkstone::testing {
namespace {

// Proposes a block of `size` and notes how many allocations there were before each step.
class Counting final : public generate::Strategy {
public:
    explicit Counting(std::size_t size) : size_(size) { before_step_.reserve(256); }
    std::string_view name() const override { return "counting"; }
    std::size_t block_size() const override { return generate::kMaximumBlock; }
    void begin(const generate::Sequence&, std::size_t) override {}
    void cached(const generate::Sequence&, std::size_t, std::size_t) override {}
    Status propose(const generate::Sequence&, std::size_t limit, std::vector<std::int32_t>& candidates) override {
        before_step_.push_back(allocations.load());
        for (std::size_t i = 0; i < std::min(limit, size_); ++i) candidates.push_back(static_cast<std::int32_t>(i));
        return {};
    }
    void committed(const generate::Sequence&, const generate::Verification&) override {}
    const std::vector<std::size_t>& before_step() const { return before_step_; }

private:
    std::size_t size_;
    std::vector<std::size_t> before_step_;
};

TEST(DecodeLoop, AllocatesNothing) {
    struct Case {
        int threads;
        std::size_t candidates;
        runtime::PartPrecisions precision = {};
    };
    const Case cases[] = {{1, 0}, {1, 3}, {1, 15}, {2, 0}, {2, 3}, {2, 15}, {2, 0, kAllBf16}, {2, 3, kAllBf16}};
    for (const auto& [threads, candidates, precision] : cases) {
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(candidates) + " candidates");
        auto engine = load_engine(kNano, threads, backend::cpu::best_set(), precision);
        const Prepared prompt = prepare(*engine, {"text_label.png"}, "Extract the text in the image.");
        module::KvPool pool(engine->backend(), engine->decoder().session().module().graph().kv);
        generate::Sequence sequence(pool, 4);
        prompt.append_to(sequence);
        generate::GeneratorOptions options;
        options.max_new_tokens = 80;  // past a page of 64 positions
        options.context_length = 8192;
        options.repetition_penalty = 1.08F;
        Counting strategy(candidates);
        ASSERT_TRUE(generate::generate(engine->decoder(), sequence, strategy, options).ok());
        const auto& counts = strategy.before_step();
        ASSERT_GT(counts.size(), 40U);
        // The last steps have fewer candidates: the end of the answer is near, and smaller plans are made.
        const std::size_t last = counts.size() - 17;
        EXPECT_EQ(counts[last] - counts[1], 0U);
    }
}

TEST(DecodeLoop, TheCounterCounts) {
    const std::size_t before = allocations.load();
    ::operator delete(::operator new(100));
    EXPECT_EQ(allocations.load() - before, 1U);
}

}  // namespace
}  // namespace inkstone::testing
