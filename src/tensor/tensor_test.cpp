// Element types, shapes, and the 16-bit conversions: all 65 536 values, and every float boundary between neighbours.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tensor/half.h"
#include "tensor/kv_block.h"
#include "tensor/tensor_view.h"

namespace inkstone::tensor {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// IEEE 754 read literally, in double: (-1)^s * 2^(e - bias) * (1 + m / 2^width), subnormals without the one.
double literal_value(unsigned bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const double fraction = std::ldexp(static_cast<double>(bits & ((1U << mantissa_bits) - 1U)), -mantissa_bits);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias);
    return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

struct Half {
    int exponent_bits, mantissa_bits;
    float (*widen)(std::uint16_t);
    std::uint16_t (*narrow)(float);
};

constexpr Half kHalves[] = {
    {5, 10, [](std::uint16_t b) { return float_from_f16(b); }, [](float v) { return f16_from_float(v); }},
    {8, 7, [](std::uint16_t b) { return float_from_bf16(b); }, [](float v) { return bf16_from_float(v); }},
};

}  // namespace

TEST(KvLayout, CountsBytesAndRefusesOddPairs) {
    const KvLayout floats{.layers = 3, .kv_heads = 2, .head_dim = 72};
    EXPECT_EQ(floats.head_key_bytes(), 72U * 64 * 4);
    EXPECT_EQ(floats.head_value_bytes(), 80U * 64 * 4);
    EXPECT_EQ(floats.value_offset(1), (2 * 72U + 80) * 64 * 4);
    EXPECT_EQ(floats.page_bytes(), 3 * 2 * (72U + 80) * 64 * 4);
    KvLayout halves = floats;
    halves.storage = KvStorage::bf16;
    EXPECT_EQ(halves.page_bytes(), floats.page_bytes() / 2);
    EXPECT_EQ(halves.layer_offset(2), floats.layer_offset(2) / 2);
    EXPECT_TRUE(check(halves).ok());
    halves.head_dim = 73;
    ASSERT_FALSE(check(halves).ok());
    EXPECT_EQ(check(halves).error().code, ErrorCode::unsupported);
    EXPECT_NE(check(halves).error().text().find("73"), std::string::npos);
    halves.storage = KvStorage::f32;
    EXPECT_TRUE(check(halves).ok());
}

TEST(Half, EveryValueWidensExactlyAndComesBack) {
    for (const Half& half : kHalves) {
        const unsigned infinity = ((1U << half.exponent_bits) - 1U) << half.mantissa_bits;
        const unsigned quiet = 1U << (half.mantissa_bits - 1);
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const float value = half.widen(static_cast<std::uint16_t>(bits));
            const unsigned magnitude = bits & 0x7FFFU;
            if (magnitude > infinity) {
                ASSERT_TRUE(std::isnan(value)) << bits;
                ASSERT_EQ(half.narrow(value), bits | quiet) << bits;
                continue;
            }
            if (magnitude == infinity) {
                ASSERT_TRUE(std::isinf(value)) << bits;
            } else {
                ASSERT_EQ(static_cast<double>(value), literal_value(bits, half.exponent_bits, half.mantissa_bits));
            }
            ASSERT_EQ(std::signbit(value), bits >= 0x8000U) << bits;
            ASSERT_EQ(half.narrow(value), bits);
        }
    }
}

// Half way between neighbours goes to the even one; one float step to either side goes to the nearer one.
TEST(Half, NarrowingRoundsToNearestEven) {
    for (const Half& half : kHalves) {
        const unsigned infinity = ((1U << half.exponent_bits) - 1U) << half.mantissa_bits;
        for (unsigned low = 0; low < infinity; ++low) {
            const unsigned high = low + 1;
            const double a = literal_value(low, half.exponent_bits, half.mantissa_bits);
            const double b = literal_value(high, half.exponent_bits, half.mantissa_bits);  // infinity: the next step
            const auto middle = static_cast<float>((a + b) / 2);
            if (static_cast<double>(middle) != (a + b) / 2) continue;  // between bf16 subnormals of one float step
            const unsigned even = (low & 1U) == 0 ? low : high;
            ASSERT_EQ(half.narrow(middle), even) << low;
            ASSERT_EQ(half.narrow(-middle), even | 0x8000U) << low;
            ASSERT_EQ(half.narrow(std::nextafter(middle, 0.0F)), low);
            ASSERT_EQ(half.narrow(std::nextafter(middle, std::numeric_limits<float>::infinity())), high);
        }
        ASSERT_EQ(half.narrow(std::numeric_limits<float>::infinity()), infinity);
    }
    EXPECT_EQ(f16_from_float(std::numeric_limits<float>::max()), 0x7C00U);
    EXPECT_EQ(f16_from_float(std::numeric_limits<float>::denorm_min()), 0U);
}

#if defined(__x86_64__)
[[gnu::target("f16c")]] std::uint16_t narrow_by_hardware(float value) {
    return static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
[[gnu::target("f16c")]] float widen_by_hardware(std::uint16_t bits) { return _cvtsh_ss(bits); }

TEST(Half, EqualsTheProcessor) {
    if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
    for (unsigned bits = 0; bits < 65536; ++bits)
        ASSERT_EQ(bits_of(float_from_f16(static_cast<std::uint16_t>(bits))),
                  bits_of(widen_by_hardware(static_cast<std::uint16_t>(bits))));
    std::mt19937 random(1);
    for (int i = 0; i < 1000000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        ASSERT_EQ(f16_from_float(value), narrow_by_hardware(value)) << bits_of(value);
    }
}
#endif

TEST(DataType, NamesAndSizes) {
    for (const auto type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::f8_e4m3,
                            DataType::f8_e5m2, DataType::i64, DataType::i32, DataType::i16, DataType::i8, DataType::u64,
                            DataType::u32, DataType::u16, DataType::u8, DataType::bool8})
        EXPECT_EQ(data_type_of(name_of(type)), type);
    EXPECT_EQ(bytes_per_element(DataType::bf16), 2U);
    EXPECT_EQ(bytes_per_element(DataType::bool8), 1U);
    EXPECT_EQ(bytes_per_element(DataType::i64), 8U);
    EXPECT_FALSE(data_type_of("f32"));
    EXPECT_FALSE(data_type_of(""));
}

TEST(Shape, CountsAndText) {
    EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
    EXPECT_EQ(to_string(Shape{}), "[]");
    EXPECT_EQ(Shape{}.element_count(), 1U);
    EXPECT_EQ((Shape{4, 0, 3}).element_count(), 0U);
    EXPECT_FALSE((Shape{1ULL << 62, 4}).element_count());
    EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
    EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(TensorView, ConvertsExactlyAtAnyAlignment) {
    const std::array<std::uint16_t, 3> halves = {0x3C00, 0xC000, 0x0001};
    std::array<std::byte, 7> odd{};
    std::memcpy(odd.data() + 1, halves.data(), 6);
    const std::span<const std::byte> bytes(odd.data() + 1, 6);
    EXPECT_EQ(to_float({DataType::f16, {3}, bytes}, "t").value(), (std::vector<float>{1.0F, -2.0F, 0x1p-24F}));
    EXPECT_EQ(to_float({DataType::bf16, {3}, bytes}, "t").value()[1], -2.0F);

    const auto wrong_size = to_float({DataType::f16, {2, 2}, bytes}, "x.weight");
    ASSERT_FALSE(wrong_size);
    EXPECT_EQ(wrong_size.error().code, ErrorCode::mismatch);
    EXPECT_EQ(wrong_size.error().subject, "x.weight");
    const auto wrong_type = to_float({DataType::i16, {3}, bytes}, "x.weight");
    ASSERT_FALSE(wrong_type);
    EXPECT_EQ(wrong_type.error().code, ErrorCode::unsupported);
}

}  // namespace inkstone::tensor
