// Lanes: 16 floats side by side, in whatever the instruction set being compiled calls a register. Kernels
// (src/ops/NAME/cpu.cpp) are written once with it and compiled once per instruction set; INKSTONE_ISA is then portable,
// avx2, avx512, avx512_vnni or avx512_bf16, and names the namespace that all of this lives in. Every operation gives
// the same bits in all of them: fma is rounded once (also where the processor has no such instruction), max and min
// pick by comparison, fold is the tree of base/reduce.h. Everything is forced inline: an inline function shared by two
// instruction sets would be merged by the linker, and an old processor could meet the new one's copy.
#pragma once

#ifndef INKSTONE_ISA
#error "base/simd/lanes.h is for kernels only: src/ops/NAME/cpu.cpp, compiled once per instruction set"
#endif

#define INKSTONE_INLINE [[gnu::always_inline]] inline

#if defined(INKSTONE_ISA_avx512) || defined(INKSTONE_ISA_avx512_vnni) || defined(INKSTONE_ISA_avx512_bf16)
#include "base/simd/lanes_avx512.h"  // IWYU pragma: export
#elif defined(INKSTONE_ISA_avx2)
#include "base/simd/lanes_avx2.h"  // IWYU pragma: export
#else
#include "base/simd/lanes_portable.h"  // IWYU pragma: export
#endif

// What each of the three headers defines, for i in 0 .. 15, with a, b, c of type Lanes:
//   Lanes::kCount                      16
//   Lanes::of(x), Lanes::zero()        x in every lane, +0 in every lane
//   Lanes::load(p), a.store(p)         16 floats, any alignment
//   Lanes::load_first(p, n)            the first n (0 .. 16) floats, the others +0; memory beyond is not touched
//   a.store_first(p, n)                the first n lanes; memory beyond is not touched
//   a.keep_first(n)                    the first n lanes, the others +0
//   a + b, a - b, a * b, a / b, -a     rounded to nearest even
//   fma(a, b, c)                       a * b + c, rounded once
//   max(a, b), min(a, b)               a > b ? a : b, a < b ? a : b (so b where either is NaN)
//   less(a, b)                         a Mask, false where either is NaN
//   select(mask, a, b)                 mask ? a : b
//   abs(a), copy_sign(a, b)            sign bits only; copy_sign has the magnitude of a and the sign of b
//   shift_bits_left<n>(a)              the 32-bit patterns shifted
//   upper_halves(a)                    the 32-bit patterns with their lower 16 bits cleared
//   any(mask)                          whether any lane is on
//   round_to_bf16(a)                   the nearest bfloat16, ties to even, as a float; a NaN stays one, made quiet
//   fold(a), fold_max(a)               one float: the sum, the maximum, by the tree of base/reduce.h
//   widen_low(p), widen_high(p)        16 words of 32 bits; their low or high halves are bfloat16
//   widen_half(p)                      16 IEEE half floats
