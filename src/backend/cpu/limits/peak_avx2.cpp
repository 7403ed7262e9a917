// AVX2 and FMA: 8 floats, or 32 bytes in the three instructions that a product of bytes takes without VNNI.
#include "backend/cpu/limits/peak_loops.h"

#if defined(__x86_64__)
#include "backend/cpu/limits/peak_assembly.h"
#endif

namespace inkstone::backend::cpu {

#if defined(__x86_64__)
namespace {

#define INKSTONE_FMA(r, n) "vfmadd231ps %%" r "0,%%" r "1,%%" r n "\n"
[[gnu::target("avx2,fma")]] void run_f32(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_VEX, INKSTONE_FMA, "ymm");
}

// Bytes times bytes in pairs, pairs in fours, then the sum.
#define INKSTONE_BYTES(r, n)            \
    "vpmaddubsw %%" r "0,%%" r "1,%%" r \
    "14\n"                              \
    "vpmaddwd %%" r "14,%%" r "0,%%" r  \
    "15\n"                              \
    "vpaddd %%" r "15,%%" r n ",%%" r n "\n"
[[gnu::target("avx2,fma")]] void run_int8(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_VEX, INKSTONE_BYTES, "ymm");
}

}  // namespace

PeakLoop avx2_f32_loop() { return {"vfmadd231ps ymm", run_f32, 12 * 8.0 * 2}; }
PeakLoop avx2_int8_loop() { return {"vpmaddubsw, vpmaddwd, vpaddd ymm", run_int8, 12 * 32.0 * 2}; }
#else
PeakLoop avx2_f32_loop() { return {}; }
PeakLoop avx2_int8_loop() { return {}; }
#endif

}  // namespace inkstone::backend::cpu
