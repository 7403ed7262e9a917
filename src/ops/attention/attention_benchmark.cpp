// Speed of the attention kernels, f32 and bf16, beside what this machine can do: a loop of independent products in
// registers for many rows, a loop that only reads for one row. Both are interleaved with the kernels, so that a change
// of clock or a neighbour on the machine meets all of them; the best of many short slices counts. Work is cut as
// backend/cpu/executions.cpp cuts it. cmake --build --preset release --target attention_benchmark
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/limits/peak_loops.h"
#include "backend/cpu/limits/read_patterns.h"
#include "base/thread_pool.h"
#include "ops/attention/attention.h"
#include "ops/attention_bf16/attention_bf16.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"
#include "testing/peak_loop.h"

namespace inkstone {
namespace {

namespace cpu = backend::cpu;

constexpr double kSecondsPerCase = 0.5;
constexpr std::size_t kQueryRowsPerChunk = 48;

// Of one thread its own time, so that waiting for a processor does not count; of several the time on the wall.
template <class Function>
double seconds(const ThreadPool& pool, Function function) {
    const auto now = [&] {
        timespec time;
        clock_gettime(pool.threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    };
    const double begin = now();
    function();
    return now() - begin;
}

// 10^9 operations a second of the loop in registers on all threads.
double peak(const cpu::PeakLoop& loop, ThreadPool& pool) {
    constexpr long kSteps = 12'000;
    const auto items = static_cast<std::size_t>(pool.threads());
    const double time = seconds(pool, [&] { pool.run(items, [&](std::size_t) { loop.run(kSteps); }); });
    return loop.operations_per_step * kSteps * static_cast<double>(items) / time / 1e9;
}

struct Case {
    const char* name;
    std::size_t heads, kv_heads, head_dim, rows, positions;
    bool is_causal;  // row r sees positions - rows + r + 1, otherwise all
};

template <class Arguments, class Kernel>
void measure(const Case& one, tensor::KvStorage storage, const testing::KernelForm<Kernel>& form, ThreadPool& pool) {
    const bool is_decode = one.rows == 1;
    // For decode as many layers as do not fit into any cache, half of them for the reader: all is found in memory.
    tensor::KvLayout layout{.layers = 1, .kv_heads = one.kv_heads, .head_dim = one.head_dim, .storage = storage};
    const std::size_t pages = (one.positions + tensor::kBlockPositions - 1) / tensor::kBlockPositions;
    if (is_decode) layout.layers = 2 + 2 * ((std::size_t{96} << 20) / (layout.block_bytes() * pages));
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(1 << 21, ((pages * layout.page_bytes() >> 21) + 1) << 21)),
        &std::free);
    if (!memory) return;
    // A float whose halves are equal is a sensible number in both types.
    const std::vector<float> pattern = testing::random_floats(1 << 16, 1);
    for (std::size_t i = 0; i < pages * layout.page_bytes(); i += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, &pattern[i / 4 % pattern.size()], 4);
        bits = (bits & 0xffff0000u) | bits >> 16;
        std::memcpy(memory.get() + i, &bits, 4);
    }
    std::vector<const std::byte*> table;
    for (std::size_t page = 0; page < pages; ++page) table.push_back(memory.get() + page * layout.page_bytes());
    const std::byte* const* sequence = table.data();
    const std::vector<float> q = testing::random_floats(one.rows * one.heads * one.head_dim, 2);
    std::vector<float> y(q.size());
    const std::vector<std::uint32_t> row_sequence(one.rows, 0);
    std::vector<std::uint32_t> visible(one.rows, static_cast<std::uint32_t>(one.positions));
    if (one.is_causal)
        std::iota(visible.begin(), visible.end(), static_cast<std::uint32_t>(one.positions - one.rows + 1));
    const double seen = std::accumulate(visible.begin(), visible.end(), 0.0);
    const double operations = 4.0 * seen * static_cast<double>(one.heads * one.head_dim);
    const double bytes =
        2.0 * static_cast<double>(one.positions * one.kv_heads * one.head_dim * layout.element_bytes());

    const std::size_t row_chunks = (one.rows + kQueryRowsPerChunk - 1) / kQueryRowsPerChunk;
    const cpu::PeakLoop loop = testing::peak_loop(form.set);
    std::atomic<std::uint64_t> any = 0;  // what was read is used, or the compiler would leave it out
    double best = 0, limit = 0, spent = 0;
    for (std::size_t slice = 0; slice < 3 || spent < kSecondsPerCase; ++slice) {
        Arguments arguments;
        arguments.q = q.data();
        arguments.y = y.data();
        arguments.blocks = &sequence;
        arguments.row_sequence = row_sequence.data();
        arguments.row_visible = visible.data();
        arguments.rows = one.rows;
        arguments.heads = one.heads;
        arguments.block_offset = layout.layer_offset(is_decode ? slice % (layout.layers / 2) : 0);
        arguments.layout = layout;
        arguments.scale = 1.0f / std::sqrt(static_cast<float>(one.head_dim));
        if (is_decode) {
            const std::size_t other = layout.layer_offset(layout.layers / 2 + slice % (layout.layers / 2));
            const double time = seconds(pool, [&] {
                pool.run(pages, [&](std::size_t page) {
                    any ^= cpu::read_once(table[page] + other, layout.block_bytes() / 256 * 256, 1, false);
                });
            });
            limit = std::max(limit, static_cast<double>(pages * layout.block_bytes()) / time / 1e9);
        } else {
            limit = std::max(limit, peak(loop, pool));
        }
        const double time = seconds(pool, [&] {
            pool.run(row_chunks * one.kv_heads, [&](std::size_t item) {
                const std::size_t head = item / row_chunks, row = item % row_chunks * kQueryRowsPerChunk;
                form.run(arguments, row, std::min(one.rows, row + kQueryRowsPerChunk), head, head + 1);
            });
        });
        spent += time;
        best = std::max(best, (is_decode ? bytes : operations) / time / 1e9);
    }
    std::printf("%-11s %-4s %d thread%s  %-26s %7.1f %s, %3.0f %% of %.1f\n", name_of(form.set).c_str(),
                storage == tensor::KvStorage::f32 ? "f32" : "bf16", pool.threads(), pool.threads() == 1 ? " " : "s",
                one.name, best, is_decode ? "GB/s   " : "GFLOP/s", 100 * best / limit, limit);
    std::fflush(stdout);
}

constexpr Case kCases[] = {
    {"vision 1024", 16, 16, 72, 1024, 1024, false},
    {"vision 4096, 480 rows", 16, 16, 72, 480, 4096, false},
    {"vision 16384, 96 rows", 16, 16, 72, 96, 16384, false},
    {"prompt of 304", 16, 8, 128, 304, 304, true},
    {"prompt, rows 1744 - 2048", 16, 8, 128, 304, 2048, true},
    {"draft, 16 rows of 304", 16, 8, 128, 16, 304, true},
    {"decode after 304", 16, 8, 128, 1, 304, true},
    {"decode after 2000", 16, 8, 128, 1, 2000, true},
};

}  // namespace
}  // namespace inkstone

// attention_benchmark [INSTRUCTION-SET [WORD]]: all forms that this machine runs, or one; only cases with WORD in their
// name.
int main(int argument_count, char** arguments) {
    using namespace inkstone;
    const std::string set = argument_count > 1 ? arguments[1] : "", word = argument_count > 2 ? arguments[2] : "";
    for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        for (const Case& one : kCases) {
            if (std::string(one.name).find(word) == std::string::npos) continue;
            for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::attention))
                if (set.empty() || name_of(form.set) == set)
                    measure<ops::attention::Arguments>(one, tensor::KvStorage::f32, form, pool);
            for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::attention_bf16))
                if (set.empty() || name_of(form.set) == set)
                    measure<ops::attention_bf16::Arguments>(one, tensor::KvStorage::bf16, form, pool);
        }
    }
}
