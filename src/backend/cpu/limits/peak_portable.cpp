// What a processor of any kind does without fused multiply-add: on x86-64 an SSE multiplication and an addition,
// elsewhere what the compiler makes of a multiply-add on four floats.
#include "backend/cpu/limits/peak_loops.h"

#if defined(__x86_64__)
#include "backend/cpu/limits/peak_assembly.h"
#endif

namespace inkstone::backend::cpu {
namespace {

constexpr int kChains = 12;

#if defined(__x86_64__)
#define INKSTONE_MULTIPLY_ADD(r, n) "mulps %%" r "0,%%" r "1\n addps %%" r "0,%%" r n "\n"
void run(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_SSE, INKSTONE_MULTIPLY_ADD, "xmm");
}
constexpr std::string_view kInstruction = "mulps and addps xmm";
#else
typedef float Four __attribute__((vector_size(16)));
volatile float sink;
void run(long steps) {
    Four sums[kChains] = {}, a = {}, b = {};
    for (long step = 0; step < steps; ++step) {
        asm volatile("" : "+w"(a), "+w"(b));
#pragma GCC unroll 12
        for (int i = 0; i < kChains; ++i) sums[i] += a * b;
    }
    for (const Four& sum : sums) sink = sum[0];
}
constexpr std::string_view kInstruction = "multiply and add of four floats";
#endif

}  // namespace

PeakLoop portable_f32_loop() { return {kInstruction, run, kChains * 4.0 * 2}; }

}  // namespace inkstone::backend::cpu
