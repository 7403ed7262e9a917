// Speed of the linear kernels beside what this machine can do: a loop of independent fused multiply-adds in registers
// for many rows, a loop that only reads for one row. The loops are interleaved with the kernels, so that a change of
// clock or a neighbour on the machine meets both. One thread. Build target: linear_benchmark.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ops/linear/linear.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone {
namespace {

using Clock = std::chrono::steady_clock;

template <class Function>
double seconds(Function function) {
    const auto begin = Clock::now();
    function();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

#if defined(__x86_64__)
// Twelve independent chains are enough for any x86 processor's multiply-add latency times two pipes.
#define INKSTONE_PEAK(name, isa, registers, zero)                                                                     \
    [[gnu::target(isa)]] void name(long steps) {                                                                      \
        asm volatile(zero "1:\n" registers "dec %0\n jnz 1b\n"                                                        \
                     : "+r"(steps)                                                                                    \
                     :                                                                                                \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");                                                  \
    }
#define INKSTONE_FMA(r, n) "vfmadd231ps %%" r "0,%%" r "1,%%" r #n "\n"
#define INKSTONE_CHAINS(r)                                                                                             \
    INKSTONE_FMA(r, 2)                                                                                                 \
    INKSTONE_FMA(r, 3)                                                                                                 \
    INKSTONE_FMA(r, 4)                                                                                                 \
    INKSTONE_FMA(r, 5) INKSTONE_FMA(r, 6) INKSTONE_FMA(r, 7) INKSTONE_FMA(r, 8) INKSTONE_FMA(r, 9) INKSTONE_FMA(r, 10) \
        INKSTONE_FMA(r, 11) INKSTONE_FMA(r, 12) INKSTONE_FMA(r, 13)
INKSTONE_PEAK(peak_avx2, "avx2,fma", INKSTONE_CHAINS("ymm"),
              "vxorps %%ymm0,%%ymm0,%%ymm0\n vxorps %%ymm1,%%ymm1,%%ymm1\n")
INKSTONE_PEAK(peak_avx512, "avx512f", INKSTONE_CHAINS("zmm"),
              "vpxord %%zmm0,%%zmm0,%%zmm0\n vpxord %%zmm1,%%zmm1,%%zmm1\n")

// GFLOP/s of the register loop; the portable form is measured against AVX2.
double peak(testing::InstructionSet set) {
    constexpr long kSteps = 2'000'000;
    const bool wide = set == testing::InstructionSet::avx512;
    const double time = seconds([&] { wide ? peak_avx512(kSteps) : peak_avx2(kSteps); });
    return 12.0 * 2 * (wide ? 16 : 8) * kSteps / time / 1e9;
}
#else
double peak(testing::InstructionSet) { return 0; }
#endif

volatile std::uint64_t sink;

double read_rate(const std::vector<std::byte>& memory) {
    std::uint64_t sums[16] = {};
    const double time = seconds([&] {
        const std::size_t words = memory.size() / 8 / 16 * 16;
        for (std::size_t i = 0; i < words; i += 16) {
            std::uint64_t part[16];
            std::memcpy(part, memory.data() + i * 8, sizeof part);
            for (int j = 0; j < 16; ++j) sums[j] |= part[j];
        }
    });
    for (const std::uint64_t sum : sums) sink = sink | sum;
    return static_cast<double>(memory.size()) / time / 1e9;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(std::size_t outputs, std::size_t inputs, WeightFormat format, std::size_t rows,
             const testing::KernelForm<ops::linear::Kernel>& form) {
    ops::linear::Arguments arguments;
    arguments.weight = {format, outputs, inputs, nullptr};
    // One row: as many copies of the matrix as do not fit into any cache.
    const std::size_t copies = rows == 1 ? 1 + (std::size_t{256} << 20) / arguments.weight.bytes() : 1;
    std::vector<std::byte> weights(arguments.weight.bytes() * copies + 64);
    const std::vector<float> pattern = testing::random_floats(1 << 16, 1, 0.02f);
    for (std::size_t i = 0; i < weights.size(); i += 4) {
        // Any two bytes of a small float's upper half are a sensible weight in all formats.
        std::uint32_t bits;
        std::memcpy(&bits, &pattern[i / 4 % pattern.size()], 4);
        bits = (bits & 0xffff0000u) | bits >> 16;
        std::memcpy(&weights[i], &bits, std::min<std::size_t>(4, weights.size() - i));
    }
    const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(weights.data()) % 64;
    const std::byte* base = weights.data() + (misalignment == 0 ? 0 : 64 - misalignment);
    const std::vector<float> x = testing::random_floats(rows * inputs, 2);
    std::vector<float> y(rows * outputs);
    arguments.x = x.data();
    arguments.y = y.data();
    arguments.rows = rows;
    arguments.x_stride = inputs;
    arguments.y_stride = outputs;
    const double operations = 2.0 * static_cast<double>(rows * outputs * inputs);
    const int repeats = rows == 1 ? 1 : std::max(1, static_cast<int>(2e9 / operations));
    std::vector<double> rates, limits;
    for (int round = 0; round < 7; ++round) {
        limits.push_back(rows == 1 ? read_rate(weights) : peak(form.set));
        const double time = seconds([&] {
            for (int repeat = 0; repeat < repeats; ++repeat)
                for (std::size_t copy = 0; copy < copies; ++copy) {
                    arguments.weight.data = base + copy * arguments.weight.bytes();
                    form.run(arguments, 0, rows, 0, arguments.weight.tiles());
                }
        });
        rates.push_back(rows == 1 ? static_cast<double>(arguments.weight.bytes() * copies) / time / 1e9
                                  : operations * repeats / time / 1e9);
    }
    const char* names[] = {"f32", "bf16", "f16"};
    std::printf("%-8s %-4s %5zu x %5zu, %4zu rows: %7.1f %s, %3.0f %% of %.1f\n", name_of(form.set).c_str(),
                names[static_cast<int>(format)], outputs, inputs, rows, median(rates),
                rows == 1 ? "GB/s   " : "GFLOP/s", 100 * median(rates) / median(limits), median(limits));
    std::fflush(stdout);
}

void measure_form(const testing::KernelForm<ops::linear::Kernel>& form) {
    // The portable form takes too long for many rows.
    const bool is_slow = form.set == testing::InstructionSet::portable;
    const std::vector<std::size_t> row_counts =
        is_slow ? std::vector<std::size_t>{1, 16} : std::vector<std::size_t>{1, 2, 4, 6, 8, 16, 64, 256, 512};
    for (const WeightFormat format : {WeightFormat::f32, WeightFormat::bf16, WeightFormat::f16})
        for (const std::size_t rows : row_counts) measure(3584, 1024, format, rows, form);
    measure(1024, 3584, WeightFormat::bf16, row_counts.back(), form);
    measure(4304, 1152, WeightFormat::bf16, row_counts.back(), form);
}

}  // namespace
}  // namespace inkstone

int main() {
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(inkstone::ops::linear)) inkstone::measure_form(form);
}
