// The emulated fused multiply-add against the C library's: random bit patterns, near-cancelling sums, sums a hair
// beside the middle between two floats, denormal results, overflow, infinities and NaN.
#include "base/simd/exact_fma.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace inkstone::portable {
namespace {

// Whether all four lanes agree with std::fma; any NaN equals any NaN.
bool agrees(const float (&a)[4], const float (&b)[4], const float (&c)[4]) {
    const Quad result =
        exact_fma(Quad{a[0], a[1], a[2], a[3]}, Quad{b[0], b[1], b[2], b[3]}, Quad{c[0], c[1], c[2], c[3]});
    for (int i = 0; i < 4; ++i) {
        const float expected = std::fma(a[i], b[i], c[i]), found = result[i];
        if (std::isnan(expected) && std::isnan(found)) continue;
        if (std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(found)) return false;
    }
    return true;
}

class Generator {
public:
    float any() { return std::bit_cast<float>(static_cast<std::uint32_t>(generator_())); }
    // Exponent within `spread` of that of 1.
    float moderate(std::uint32_t spread) {
        const std::uint32_t bits = generator_();
        return std::bit_cast<float>((bits & 0x807fffffu) | (127 - spread / 2 + bits % 1009 % spread) << 23);
    }
    std::uint32_t bits() { return generator_(); }

private:
    std::mt19937 generator_{7};
};

TEST(ExactFma, EqualsFmaOnAnyBits) {
    Generator generator;
    for (int i = 0; i < 500'000; ++i) {
        float a[4], b[4], c[4];
        for (int j = 0; j < 4; ++j) a[j] = generator.any(), b[j] = generator.any(), c[j] = generator.any();
        ASSERT_TRUE(agrees(a, b, c)) << a[0] << ' ' << b[0] << ' ' << c[0];
    }
}

TEST(ExactFma, EqualsFmaOnSimilarMagnitudesAndCancellation) {
    Generator generator;
    for (int i = 0; i < 500'000; ++i) {
        float a[4], b[4], c[4];
        for (int j = 0; j < 4; ++j) {
            a[j] = generator.moderate(20), b[j] = generator.moderate(20);
            const float near = -(a[j] * b[j]);
            c[j] = j % 2 == 0 ? generator.moderate(60)
                              : std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) + generator.bits() % 5 - 2);
        }
        ASSERT_TRUE(agrees(a, b, c)) << a[0] << ' ' << b[0] << ' ' << c[0];
    }
}

TEST(ExactFma, EqualsFmaBesideTheMiddleBetweenTwoFloats) {
    // c has an even or odd last bit; a * b is half a unit in its last place, or that and a hair, far below double's
    // precision: rounding twice would take the tie to even.
    Generator generator;
    for (int i = 0; i < 200'000; ++i) {
        float a[4], b[4], c[4];
        for (int j = 0; j < 4; ++j) {
            const int scale = static_cast<int>(generator.bits() % 200) - 100;
            c[j] = std::ldexp(generator.moderate(1), scale);
            const float factor = 1.0f + static_cast<float>(generator.bits() % 3) * 0x1p-23f;
            const float other = 1.0f - static_cast<float>(generator.bits() % 3) * 0x1p-24f;
            a[j] = std::ldexp(factor, scale / 2 - 24), b[j] = std::ldexp(other, scale - scale / 2);
            if (generator.bits() % 2 == 0) a[j] = -a[j];
        }
        ASSERT_TRUE(agrees(a, b, c)) << a[0] << ' ' << b[0] << ' ' << c[0];
    }
}

TEST(ExactFma, EqualsFmaForDenormalResultsAndOverflow) {
    Generator generator;
    for (int i = 0; i < 200'000; ++i) {
        float a[4], b[4], c[4];
        for (int j = 0; j < 4; ++j) {
            const int scale = j % 2 == 0 ? -75 : 63;
            a[j] = std::ldexp(generator.moderate(10), scale), b[j] = std::ldexp(generator.moderate(10), scale);
            c[j] = std::ldexp(generator.moderate(20), 2 * scale + (j % 2 == 0 ? 12 : 0));
        }
        ASSERT_TRUE(agrees(a, b, c)) << a[0] << ' ' << b[0] << ' ' << c[0];
    }
}

TEST(ExactFma, EqualsFmaOnAllTriplesOfSpecialValues) {
    using Limits = std::numeric_limits<float>;
    const float values[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            3.0f,
                            Limits::denorm_min(),
                            -Limits::denorm_min(),
                            Limits::min(),
                            Limits::max(),
                            Limits::lowest(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            0x1.fffffep-1f,
                            0x1.000002p0f,
                            0x1p-75f};
    for (const float a : values)
        for (const float b : values)
            for (const float c : values) {
                const float as[4] = {a, a, a, a}, bs[4] = {b, b, b, b}, cs[4] = {c, c, c, c};
                EXPECT_TRUE(agrees(as, bs, cs)) << a << ' ' << b << ' ' << c;
            }
}

}  // namespace
}  // namespace inkstone::portable
