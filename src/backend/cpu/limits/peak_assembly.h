// The shape that all x86 register loops share: registers 0 and 1 are zero and are multiplied, further ones are
// independent sums, twelve where there are 16 registers and 24 where there are 32: enough for the latency of any x86
// processor's multiply-add times two pipes (12 came to three quarters on some runs of a Zen 5). Zeros keep every
// processor on its fast path: no denormal number comes up. For peak_*.cpp only.
#pragma once

#define INKSTONE_SUMS_2_TO_13(line, r)                                                                      \
    line(r, "2") line(r, "3") line(r, "4") line(r, "5") line(r, "6") line(r, "7") line(r, "8") line(r, "9") \
        line(r, "10") line(r, "11") line(r, "12") line(r, "13")
#define INKSTONE_SUMS_14_TO_25(line, r)                                                                             \
    line(r, "14") line(r, "15") line(r, "16") line(r, "17") line(r, "18") line(r, "19") line(r, "20") line(r, "21") \
        line(r, "22") line(r, "23") line(r, "24") line(r, "25")

#define INKSTONE_CLEAR_SSE(r, n) "xorps %%" r n ",%%" r n "\n"
#define INKSTONE_CLEAR_VEX(r, n) "vxorps %%" r n ",%%" r n ",%%" r n "\n"
#define INKSTONE_CLEAR_EVEX(r, n) "vpxord %%" r n ",%%" r n ",%%" r n "\n"

#define INKSTONE_CLOBBERS_0_TO_15                                                                                    \
    "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14", "xmm15"
#define INKSTONE_CLOBBERS_16_TO_25 \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25"

// Repeats `line` on twelve sums; registers 14 and 15 are free for it.
#define INKSTONE_LOOP_OF_12(steps, clear, line, r)                                            \
    asm volatile(clear(r, "0") clear(r, "1") INKSTONE_SUMS_2_TO_13(clear, r) clear(r, "14")   \
                     clear(r, "15") "1:\n" INKSTONE_SUMS_2_TO_13(line, r) "dec %0\n jnz 1b\n" \
                 : "+r"(steps)                                                                \
                 :                                                                            \
                 : INKSTONE_CLOBBERS_0_TO_15)

// Repeats `line` on 24 sums, in 512-bit registers.
#define INKSTONE_LOOP_OF_24(steps, line)                                                                              \
    asm volatile(INKSTONE_CLEAR_EVEX("zmm", "0") INKSTONE_CLEAR_EVEX("zmm", "1")                                      \
                     INKSTONE_SUMS_2_TO_13(INKSTONE_CLEAR_EVEX, "zmm")                                                \
                         INKSTONE_SUMS_14_TO_25(INKSTONE_CLEAR_EVEX, "zmm") "1:\n" INKSTONE_SUMS_2_TO_13(line, "zmm") \
                             INKSTONE_SUMS_14_TO_25(line, "zmm") "dec %0\n jnz 1b\n"                                  \
                 : "+r"(steps)                                                                                        \
                 :                                                                                                    \
                 : INKSTONE_CLOBBERS_0_TO_15, INKSTONE_CLOBBERS_16_TO_25)
