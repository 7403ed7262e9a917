// AVX-512 VNNI: 64 products of bytes, added in fours to 16 integers.
#include "backend/cpu/limits/peak_loops.h"

#if defined(__x86_64__)
#include "backend/cpu/limits/peak_assembly.h"
#endif

namespace inkstone::backend::cpu {

#if defined(__x86_64__)
namespace {

#define INKSTONE_DOT(r, n) "vpdpbusd %%" r "0,%%" r "1,%%" r n "\n"
[[gnu::target("avx512f,avx512vnni")]] void run_int8(long steps) {
    if (steps < 1) return;
    INKSTONE_REGISTER_LOOP(steps, INKSTONE_CLEAR_EVEX, INKSTONE_DOT, "zmm");
}

}  // namespace

PeakLoop avx512_vnni_loop() { return {"vpdpbusd zmm", run_int8, 12 * 64.0 * 2}; }
#else
PeakLoop avx512_vnni_loop() { return {}; }
#endif

}  // namespace inkstone::backend::cpu
