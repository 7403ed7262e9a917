// Speed of the linear kernels beside what this machine can do: a loop of independent fused multiply-adds in registers
// for many rows, a loop that only reads for one row. Both are interleaved with the kernels, so that a change of clock
// or a neighbour on the machine meets all of them; the best of many short slices counts. One thread. cmake --build
// --preset release --target linear_benchmark
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "ops/linear/linear.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone {
namespace {

constexpr double kSecondsPerCase = 0.3;

// The thread's own time, so that waiting for a processor does not count.
double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class Function>
double seconds(Function function) {
    const double begin = now();
    function();
    return now() - begin;
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
#define INKSTONE_CHAINS(r) \
    INKSTONE_FMA(r, 2)     \
    INKSTONE_FMA(r, 3)     \
    INKSTONE_FMA(r, 4)     \
    INKSTONE_FMA(r, 5)     \
    INKSTONE_FMA(r, 6)     \
    INKSTONE_FMA(r, 7)     \
    INKSTONE_FMA(r, 8)     \
    INKSTONE_FMA(r, 9) INKSTONE_FMA(r, 10) INKSTONE_FMA(r, 11) INKSTONE_FMA(r, 12) INKSTONE_FMA(r, 13)
INKSTONE_PEAK(peak_avx2, "avx2,fma", INKSTONE_CHAINS("ymm"),
              "vxorps %%ymm0,%%ymm0,%%ymm0\n vxorps %%ymm1,%%ymm1,%%ymm1\n")
INKSTONE_PEAK(peak_avx512, "avx512f", INKSTONE_CHAINS("zmm"),
              "vpxord %%zmm0,%%zmm0,%%zmm0\n vpxord %%zmm1,%%zmm1,%%zmm1\n")

// GFLOP/s of the register loop; the portable form is measured against AVX2.
double peak(testing::InstructionSet set) {
    constexpr long kSteps = 20'000;
    const bool wide = set == testing::InstructionSet::avx512;
    const double time = seconds([&] { wide ? peak_avx512(kSteps) : peak_avx2(kSteps); });
    return 12.0 * 2 * (wide ? 16 : 8) * kSteps / time / 1e9;
}
#else
double peak(testing::InstructionSet) { return 0; }
#endif

volatile std::uint64_t sink;

// GB/s of only reading.
double read_rate(const std::byte* memory, std::size_t bytes) {
    std::uint64_t any[16] = {};
    const double time = seconds([&] {
        for (std::size_t i = 0; i + sizeof any <= bytes; i += sizeof any) {
            __builtin_prefetch(memory + i + 2048);
            __builtin_prefetch(memory + i + 2112);
            std::uint64_t part[16];
            std::memcpy(part, memory + i, sizeof part);
            for (int j = 0; j < 16; ++j) any[j] |= part[j];
        }
    });
    for (const std::uint64_t word : any) sink = sink | word;
    return static_cast<double>(bytes) / time / 1e9;
}

struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
};

void measure(std::size_t outputs, std::size_t inputs, tensor::WeightFormat format, std::size_t rows,
             const testing::KernelForm<ops::linear::Kernel>& form) {
    tensor::PackedMatrix matrix{format, outputs, inputs, nullptr};
    // As many copies of the matrix as do not fit into any cache: decoding finds every weight in memory.
    const std::size_t copies = 1 + (std::size_t{128} << 20) / matrix.bytes();
    const std::unique_ptr<std::byte, Free> weights(
        static_cast<std::byte*>(std::aligned_alloc(64, copies * matrix.bytes())));
    if (!weights) return;
    // The upper half of a small float, twice, is a sensible weight or two in all formats.
    const std::vector<float> pattern = testing::random_floats(1 << 16, 1, 0.02f);
    for (std::size_t i = 0; i < copies * matrix.bytes(); i += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, &pattern[i / 4 % pattern.size()], 4);
        bits = (bits & 0xffff0000u) | bits >> 16;
        std::memcpy(weights.get() + i, &bits, 4);
    }
    const std::vector<float> x = testing::random_floats(rows * inputs, 2);
    std::vector<float> y(rows * outputs);
    const bool reads = rows == 1;
    const double operations = 2.0 * static_cast<double>(rows * outputs * inputs);
    double best = 0, limit = 0;
    const double begin = now();
    for (std::size_t slice = 0; slice < 3 || now() - begin < kSecondsPerCase; ++slice) {
        const std::byte* previous = weights.get() + slice % copies * matrix.bytes();
        limit = std::max(limit, reads ? read_rate(previous, matrix.bytes()) : peak(form.set));
        matrix.data = weights.get() + (slice + copies / 2) % copies * matrix.bytes();
        const ops::linear::Arguments arguments{x.data(), y.data(), matrix, nullptr, rows, inputs, outputs};
        const double time = seconds([&] { form.run(arguments, 0, rows, 0, matrix.tiles()); });
        best = std::max(best, (reads ? static_cast<double>(matrix.bytes()) : operations) / time / 1e9);
    }
    const char* names[] = {"f32", "bf16", "f16"};
    std::printf("%-8s %-4s %5zu x %5zu, %4zu rows: %6.1f %s, %3.0f %% of %.1f\n", name_of(form.set).c_str(),
                names[static_cast<int>(format)], outputs, inputs, rows, best, reads ? "GB/s" : "GFLOP/s",
                100 * best / limit, limit);
    std::fflush(stdout);
}

void measure_form(const testing::KernelForm<ops::linear::Kernel>& form) {
    for (const tensor::WeightFormat format :
         {tensor::WeightFormat::f32, tensor::WeightFormat::bf16, tensor::WeightFormat::f16})
        for (const std::size_t rows : {1, 2, 4, 6, 8, 16, 64, 256}) measure(1024, 1024, format, rows, form);
    for (const std::size_t rows : {1, 16, 256, 512}) {
        measure(1024, 3584, tensor::WeightFormat::bf16, rows, form);
        measure(4304, 1152, tensor::WeightFormat::bf16, rows, form);
    }
}

}  // namespace
}  // namespace inkstone

// linear_benchmark [portable | avx2 | avx512]: all forms that this machine runs, or one.
int main(int argument_count, char** arguments) {
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(inkstone::ops::linear))
        if (argument_count < 2 || name_of(form.set) == arguments[1]) inkstone::measure_form(form);
}
