// layer_norm: every form equals the reference bit for bit for all widths and row ranges, in place too; the reference
// follows the formula in double.
#include "ops/layer_norm/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "testing/elementwise_check.h"

namespace inkstone::ops::layer_norm {
namespace {

using inkstone::testing::GuardedFloats;
using inkstone::testing::random_floats;
using inkstone::testing::same_bits;

TEST(LayerNorm, EqualsReference) {
    for (const std::size_t width : {1, 2, 15, 16, 17, 31, 64, 100, 128, 1024, 1152}) {
        for (const std::size_t rows : {0, 1, 5}) {
            const std::vector<float> x = random_floats(rows * width, 1), weight = random_floats(width, 2);
            const std::vector<float> bias = random_floats(width, 3);
            std::vector<float> expected(rows * width);
            Arguments arguments{x.data(), expected.data(), weight.data(), bias.data(), rows, width, 1e-5f};
            reference(arguments);
            for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::layer_norm)) {
                SCOPED_TRACE(name_of(form.set) + " width " + std::to_string(width));
                GuardedFloats y(rows * width), in_place(rows * width);
                arguments.x = x.data();
                arguments.y = y.data();
                testing::in_odd_pieces(rows,
                                       [&](std::size_t begin, std::size_t end) { form.run(arguments, begin, end); });
                in_place.assign(x);
                arguments.x = arguments.y = in_place.data();
                form.run(arguments, 0, rows);
                EXPECT_TRUE(same_bits(y.data(), expected.data(), rows * width));
                EXPECT_TRUE(same_bits(in_place.data(), expected.data(), rows * width));
                EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
            }
        }
    }
}

TEST(LayerNorm, FollowsItsFormula) {
    constexpr std::size_t kWidth = 100;
    std::vector<float> x = random_floats(kWidth, 1);
    const std::vector<float> weight = random_floats(kWidth, 2), bias = random_floats(kWidth, 3);
    double mean = 0, variance = 0;
    for (float& value : x) mean += (value += 2.0f) / static_cast<double>(kWidth);
    for (const float value : x) variance += (value - mean) * (value - mean) / kWidth;
    std::vector<float> y(kWidth);
    reference({x.data(), y.data(), weight.data(), bias.data(), 1, kWidth, 1e-5f});
    for (std::size_t i = 0; i < kWidth; ++i)
        EXPECT_NEAR(y[i], (x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i], 1e-5);
}

}  // namespace
}  // namespace inkstone::ops::layer_norm
