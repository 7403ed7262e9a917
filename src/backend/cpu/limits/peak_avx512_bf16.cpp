// AVX-512 BF16: 32 products of bfloat16 numbers, added in pairs to 16 floats.
#include "backend/cpu/limits/peak_loops.h"

#if defined(__x86_64__)
#include "backend/cpu/limits/peak_assembly.h"
#endif

namespace inkstone::backend::cpu {

#if defined(__x86_64__)
namespace {

#define INKSTONE_DOT(r, n) "vdpbf16ps %%" r "0,%%" r "1,%%" r n "\n"
[[gnu::target("avx512f,avx512bf16")]] void run_bf16(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_EVEX, INKSTONE_DOT, "zmm");
}

}  // namespace

PeakLoop avx512_bf16_loop() { return {"vdpbf16ps zmm", run_bf16, 12 * 32.0 * 2}; }
#else
PeakLoop avx512_bf16_loop() { return {}; }
#endif

}  // namespace inkstone::backend::cpu
