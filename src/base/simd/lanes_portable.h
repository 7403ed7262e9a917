// Lanes for any processor: four quads of the compiler's own vector type (SSE2 on x86-64, NEON on ARM). Included by
// base/simd/lanes.h, which says what each operation means.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd/exact_fma.h"

namespace inkstone::portable {

struct Mask {
    IntQuad quads[4];
};

struct Lanes {
    static constexpr std::size_t kCount = 16;
    Quad quads[4];

    INKSTONE_INLINE static Lanes of(float x) {
        const Quad quad = {x, x, x, x};
        return {{quad, quad, quad, quad}};
    }
    INKSTONE_INLINE static Lanes zero() { return of(0.0f); }
    INKSTONE_INLINE static Lanes load(const float* p) {
        Lanes lanes;
        __builtin_memcpy(lanes.quads, p, sizeof lanes.quads);
        return lanes;
    }
    INKSTONE_INLINE static Lanes load_first(const float* p, std::size_t count) {
        float all[kCount] = {};
        for (std::size_t i = 0; i < count; ++i) all[i] = p[i];
        return load(all);
    }
    INKSTONE_INLINE void store(float* p) const { __builtin_memcpy(p, quads, sizeof quads); }
    INKSTONE_INLINE Lanes keep_first(std::size_t count) const {
        float all[kCount];
        store(all);
        return load_first(all, count);
    }
    INKSTONE_INLINE void store_first(float* p, std::size_t count) const {
        float all[kCount];
        store(all);
        for (std::size_t i = 0; i < count; ++i) p[i] = all[i];
    }
};

// Applies a function of quads to all four.
template <class Function>
INKSTONE_INLINE Lanes map(Function function) {
    return {{function(0), function(1), function(2), function(3)}};
}

INKSTONE_INLINE Lanes operator+(Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) { return a.quads[i] + b.quads[i]; });
}
INKSTONE_INLINE Lanes operator-(Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) { return a.quads[i] - b.quads[i]; });
}
INKSTONE_INLINE Lanes operator*(Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) { return a.quads[i] * b.quads[i]; });
}
INKSTONE_INLINE Lanes operator/(Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) { return a.quads[i] / b.quads[i]; });
}
INKSTONE_INLINE Lanes operator-(Lanes a) {
    return map([&](int i) __attribute__((always_inline)) { return -a.quads[i]; });
}
INKSTONE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return map([&](int i) __attribute__((always_inline)) { return exact_fma(a.quads[i], b.quads[i], c.quads[i]); });
}
INKSTONE_INLINE Quad select(IntQuad mask, Quad a, Quad b) {
    return reinterpret_cast<Quad>((mask & reinterpret_cast<IntQuad>(a)) | (~mask & reinterpret_cast<IntQuad>(b)));
}
INKSTONE_INLINE Lanes max(Lanes a, Lanes b) {
    return map([&](int i)
                   __attribute__((always_inline)) { return select(a.quads[i] > b.quads[i], a.quads[i], b.quads[i]); });
}
INKSTONE_INLINE Lanes min(Lanes a, Lanes b) {
    return map([&](int i)
                   __attribute__((always_inline)) { return select(a.quads[i] < b.quads[i], a.quads[i], b.quads[i]); });
}
INKSTONE_INLINE Mask less(Lanes a, Lanes b) {
    return {{a.quads[0] < b.quads[0], a.quads[1] < b.quads[1], a.quads[2] < b.quads[2], a.quads[3] < b.quads[3]}};
}
INKSTONE_INLINE Lanes select(Mask mask, Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) { return select(mask.quads[i], a.quads[i], b.quads[i]); });
}
INKSTONE_INLINE Lanes copy_sign(Lanes a, Lanes b) {
    return map([&](int i) __attribute__((always_inline)) {
        const IntQuad magnitude = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
        return select(magnitude, a.quads[i], b.quads[i]);
    });
}
INKSTONE_INLINE Lanes abs(Lanes a) { return copy_sign(a, Lanes::zero()); }
template <int kBits>
INKSTONE_INLINE Lanes shift_bits_left(Lanes a) {
    return map([&](int i) __attribute__((always_inline)) {
        return reinterpret_cast<Quad>(reinterpret_cast<UnsignedQuad>(a.quads[i]) << kBits);
    });
}
INKSTONE_INLINE Lanes upper_halves(Lanes a) {
    return map([&](int i) __attribute__((always_inline)) {
        return reinterpret_cast<Quad>(reinterpret_cast<UnsignedQuad>(a.quads[i]) & 0xffff0000u);
    });
}

INKSTONE_INLINE float fold(Lanes a) {
    const Quad low = a.quads[0] + a.quads[2];
    const Quad high = a.quads[1] + a.quads[3];
    const Quad four = low + high;
    return (four[0] + four[2]) + (four[1] + four[3]);
}
INKSTONE_INLINE float fold_max(Lanes a) {
    const Quad low = select(a.quads[0] > a.quads[2], a.quads[0], a.quads[2]);
    const Quad high = select(a.quads[1] > a.quads[3], a.quads[1], a.quads[3]);
    const Quad four = select(low > high, low, high);
    const float even = four[0] > four[2] ? four[0] : four[2];
    const float odd = four[1] > four[3] ? four[1] : four[3];
    return even > odd ? even : odd;
}

INKSTONE_INLINE bool any(Mask mask) {
    const IntQuad either = (mask.quads[0] | mask.quads[1]) | (mask.quads[2] | mask.quads[3]);
    return ((either[0] | either[1]) | (either[2] | either[3])) != 0;
}
INKSTONE_INLINE Lanes round_to_bf16(Lanes a) {
    return map([&](int i) __attribute__((always_inline)) {
        const auto bits = reinterpret_cast<UnsignedQuad>(a.quads[i]);
        const UnsignedQuad rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
        const IntQuad is_nan = reinterpret_cast<IntQuad>(bits & 0x7fffffffu) > 0x7f800000;
        const Quad either = select(is_nan, reinterpret_cast<Quad>(bits | 0x00400000u), reinterpret_cast<Quad>(rounded));
        return reinterpret_cast<Quad>(reinterpret_cast<UnsignedQuad>(either) & 0xffff0000u);
    });
}

INKSTONE_INLINE UnsignedQuad load_words(const std::byte* p, int quad) {
    UnsignedQuad words;
    __builtin_memcpy(&words, p + 16 * quad, sizeof words);
    return words;
}
INKSTONE_INLINE Lanes widen_low(const std::byte* p) {
    return map([&](int i) __attribute__((always_inline)) { return reinterpret_cast<Quad>(load_words(p, i) << 16); });
}
INKSTONE_INLINE Lanes widen_high(const std::byte* p) {
    return map([&](int i)
                   __attribute__((always_inline)) { return reinterpret_cast<Quad>(load_words(p, i) & 0xffff0000u); });
}
INKSTONE_INLINE Lanes widen_half(const std::byte* p) {
    return map([&](int i) __attribute__((always_inline)) {
        std::uint16_t halves[4];
        __builtin_memcpy(halves, p + 8 * i, sizeof halves);
        const UnsignedQuad bits = {halves[0], halves[1], halves[2], halves[3]};
        // The exponent moves from bias 15 to bias 127 by a multiplication with 2^112, which also makes halves'
        // subnormal numbers normal; infinities and NaN take float's top exponent.
        const UnsignedQuad magnitude = (bits & 0x7fffu) << 13;
        const Quad finite = reinterpret_cast<Quad>(magnitude) * 0x1p112f;
        const IntQuad is_nan = reinterpret_cast<IntQuad>(magnitude) > 0x0f800000;
        const UnsignedQuad special = magnitude | 0x7f800000u | (reinterpret_cast<UnsignedQuad>(is_nan) & 0x400000u);
        const IntQuad is_special = (bits & 0x7c00u) == 0x7c00u;
        const UnsignedQuad sign = (bits & 0x8000u) << 16;
        return reinterpret_cast<Quad>(
            reinterpret_cast<UnsignedQuad>(select(is_special, reinterpret_cast<Quad>(special), finite)) | sign);
    });
}

}  // namespace inkstone::portable
