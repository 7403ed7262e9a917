// The shape that all x86 register loops share: registers 0 and 1 are zero and are multiplied, twelve further ones are
// independent sums, enough for the latency of any x86 processor's multiply-add times two pipes. Zeros keep every
// processor on its fast path: no denormal number comes up. For peak_*.cpp only.
#pragma once

// Twelve times one instruction, with each sum. r: "xmm", "ymm" or "zmm".
#define INKSTONE_TWELVE(line, r)                                                                            \
    line(r, "2") line(r, "3") line(r, "4") line(r, "5") line(r, "6") line(r, "7") line(r, "8") line(r, "9") \
        line(r, "10") line(r, "11") line(r, "12") line(r, "13")

#define INKSTONE_CLEAR_VEX(r, n) "vxorps %%" r n ",%%" r n ",%%" r n "\n"
#define INKSTONE_CLEAR_EVEX(r, n) "vpxord %%" r n ",%%" r n ",%%" r n "\n"
#define INKSTONE_CLEAR_SSE(r, n) "xorps %%" r n ",%%" r n "\n"

#define INKSTONE_REGISTER_LOOP(steps, clear, line, r)                                                             \
    asm volatile(clear(r, "0") clear(r, "1") INKSTONE_TWELVE(clear, r) clear(r, "14")                             \
                     clear(r, "15") "1:\n" INKSTONE_TWELVE(line, r) "dec %0\n jnz 1b\n"                           \
                 : "+r"(steps)                                                                                    \
                 :                                                                                                \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
