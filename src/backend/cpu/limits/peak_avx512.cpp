// AVX-512 F: 16 floats.
#include "backend/cpu/limits/peak_loops.h"

#if defined(__x86_64__)
#include "backend/cpu/limits/peak_assembly.h"
#endif

namespace inkstone::backend::cpu {

#if defined(__x86_64__)
namespace {

#define INKSTONE_FMA(r, n) "vfmadd231ps %%" r "0,%%" r "1,%%" r n "\n"
[[gnu::target("avx512f")]] void run_f32(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_EVEX, INKSTONE_FMA, "zmm");
}

}  // namespace

PeakLoop avx512_f32_loop() { return {"vfmadd231ps zmm", run_f32, 12 * 16.0 * 2}; }
#else
PeakLoop avx512_f32_loop() { return {}; }
#endif

}  // namespace inkstone::backend::cpu
