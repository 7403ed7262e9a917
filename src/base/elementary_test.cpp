// Elementary functions against double: dense sweeps over all magnitudes within the stated error bounds, then the ends.
#include "base/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace inkstone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The largest error of `function` in units in the last place of the true result, over floats of either sign whose bit
// patterns are `step` apart and that lie in [low, high].
template <class Function, class Truth>
double largest_error(Function function, Truth truth, float low, float high, std::uint32_t step = 4099) {
    double largest = 0;
    for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += step) {
        for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
            if (x < low || x > high) continue;
            const double expected = truth(static_cast<double>(x));
            int exponent = 0;
            std::frexp(expected, &exponent);
            const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
            const double error = std::fabs(static_cast<double>(function(x)) - expected) / unit;
            if (!(error <= largest)) largest = error;
        }
    }
    return largest;
}

TEST(Elementary, ErrorsStayWithinTheStatedBounds) {
    EXPECT_LT(largest_error([](float x) { return exp2(x); }, [](double x) { return std::exp2(x); }, -126, 127.49f), 1);
    EXPECT_LT(largest_error([](float x) { return exp(x); }, [](double x) { return std::exp(x); }, -87.3f, 88.37f), 1.2);
    EXPECT_LT(
        largest_error([](float x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, 1e6f),
        2.4);
    EXPECT_LT(largest_error([](float x) { return tanh(x); }, [](double x) { return std::tanh(x); }, -1e6f, 1e6f), 1.4);
    EXPECT_LT(largest_error([](float x) { return erf(x); }, [](double x) { return std::erf(x); }, -1e6f, 1e6f), 1.3);
    EXPECT_LT(
        largest_error([](float x) { return sin_cos(x).sine; }, [](double x) { return std::sin(x); }, -0x1p24f, 0x1p24f),
        0.51);
    EXPECT_LT(largest_error([](float x) { return sin_cos(x).cosine; }, [](double x) { return std::cos(x); }, -0x1p24f,
                            0x1p24f),
              0.51);
}

TEST(Elementary, SweepsTheCommonRangeDensely) {
    const auto near_one = [](auto function, auto truth) {
        double largest = 0;
        for (float x = -4; x < 4; x += 0x1p-13f) {
            const double expected = truth(static_cast<double>(x));
            largest = std::max(largest, std::fabs(function(x) - expected) / std::max(std::fabs(expected), 1e-30));
        }
        return largest;
    };
    EXPECT_LT(near_one([](float x) { return exp2(x); }, [](double x) { return std::exp2(x); }), 1.2e-7);
    EXPECT_LT(near_one([](float x) { return exp(x); }, [](double x) { return std::exp(x); }), 1.4e-7);
    EXPECT_LT(near_one([](float x) { return erf(x); }, [](double x) { return std::erf(x); }), 1.6e-7);
    EXPECT_LT(near_one([](float x) { return tanh(x); }, [](double x) { return std::tanh(x); }), 1.7e-7);
}

TEST(Elementary, Exp2AtTheEnds) {
    EXPECT_EQ(exp2(0.0f), 1.0f);
    EXPECT_EQ(exp2(-0.0f), 1.0f);
    for (int n = -126; n <= 127; ++n) EXPECT_EQ(exp2(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
    EXPECT_EQ(exp2(-126.25f), static_cast<float>(std::exp2(-126.25)));
    EXPECT_EQ(exp2(-126.6f), 0.0f);
    EXPECT_EQ(exp2(-1e30f), 0.0f);
    EXPECT_EQ(exp2(-kInfinity), 0.0f);
    EXPECT_TRUE(std::isfinite(exp2(127.4f)));
    EXPECT_EQ(exp2(127.6f), kInfinity);
    EXPECT_EQ(exp2(1e30f), kInfinity);
    EXPECT_EQ(exp2(kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(exp2(kNan)));
    EXPECT_TRUE(std::isnan(exp2(std::bit_cast<float>(0xffffffffu))));
}

TEST(Elementary, Exp2ShortIsGoodEnoughForBf16) {
    double largest = 0;
    for (float x = -125; x <= 0; x += 0x1p-12f) {
        const double expected = std::exp2(static_cast<double>(x));
        largest = std::max(largest, std::fabs(exp2_short(x) - expected) / expected);
    }
    EXPECT_LT(largest, 7.6e-5);
    EXPECT_GT(largest, 7.0e-5);  // the bound is no larger than it need be
    EXPECT_LT(std::fabs(exp2_short(0.0f) - 1.0f), 0x1p-10f);
    for (const float x : {-125.0f, -126.0f, -1e30f, -kInfinity}) EXPECT_EQ(exp2_short(x), exp2_short(-125.0f));
    EXPECT_GE(exp2_short(-125.0f), std::numeric_limits<float>::min());
    EXPECT_TRUE(std::isnan(exp2_short(kNan)));
}

TEST(Elementary, OthersAtTheEnds) {
    EXPECT_EQ(exp(0.0f), 1.0f);
    EXPECT_EQ(exp(-kInfinity), 0.0f);
    EXPECT_EQ(exp(-1e30f), 0.0f);
    EXPECT_TRUE(std::isfinite(exp(88.3f)));
    EXPECT_EQ(exp(89.0f), kInfinity);
    EXPECT_EQ(exp(kInfinity), kInfinity);
    EXPECT_EQ(sigmoid(kInfinity), 1.0f);
    EXPECT_EQ(sigmoid(-kInfinity), 0.0f);
    EXPECT_EQ(sigmoid(0.0f), 0.5f);
    EXPECT_EQ(tanh(kInfinity), 1.0f);
    EXPECT_EQ(tanh(-kInfinity), -1.0f);
    EXPECT_TRUE(std::signbit(tanh(-0.0f)));
    EXPECT_EQ(erf(kInfinity), 1.0f);
    EXPECT_EQ(erf(-kInfinity), -1.0f);
    EXPECT_TRUE(std::signbit(erf(-0.0f)));
    EXPECT_EQ(sin_cos(0.0f).sine, 0.0f);
    EXPECT_EQ(sin_cos(0.0f).cosine, 1.0f);
    EXPECT_TRUE(std::isnan(sin_cos(0x1.8p24f).sine));
    EXPECT_TRUE(std::isnan(sin_cos(kInfinity).cosine));
    for (const float y : {exp(kNan), sigmoid(kNan), tanh(kNan), erf(kNan), sin_cos(kNan).sine})
        EXPECT_TRUE(std::isnan(y));
}

}  // namespace
}  // namespace inkstone
