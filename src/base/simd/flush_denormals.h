// Denormal numbers flushed to zero while an object of this type lives, as the BF16 dot products of the processor do by
// themselves: for kernels that stand in for them with fused multiply-adds. Only for cpu.cpp files, like lanes.h. The
// arithmetic belongs in functions that are not inlined into the one that holds the object: the compiler does not know
// that the register matters to it.
#pragma once

#include "base/simd/lanes.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#define INKSTONE_FLUSHES_DENORMALS 1
#else
// Elsewhere kernels flush by base/flushed_fma.h.
#define INKSTONE_FLUSHES_DENORMALS 0
#endif

namespace inkstone::INKSTONE_ISA {

#if INKSTONE_FLUSHES_DENORMALS
class FlushDenormals {
public:
    INKSTONE_INLINE FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero); }
    INKSTONE_INLINE ~FlushDenormals() { _mm_setcsr(before_); }
    FlushDenormals(const FlushDenormals&) = delete;
    FlushDenormals& operator=(const FlushDenormals&) = delete;

private:
    static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    unsigned before_;
};
#endif

}  // namespace inkstone::INKSTONE_ISA
