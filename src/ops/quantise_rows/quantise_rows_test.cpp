// Quantising rows: the reference rounds to nearest even within each group and marks what is not finite; every form
// equals it byte for byte at every tail and touches nothing else.
#include "ops/quantise_rows/quantise_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone::ops::quantise_rows {
namespace {

constexpr std::byte kUntouched{0xa5};

struct Quantised {
    std::vector<int> codes;
    std::vector<float> scales;
    std::vector<std::int32_t> offsets;
};

Quantised quantised(const std::vector<float>& x, std::size_t group) {
    const tensor::QuantisedRow row{x.size(), group};
    std::vector<std::byte> y(row.bytes(), kUntouched);
    reference({x.data(), y.data(), row, 1, x.size(), y.size()});
    Quantised found;
    for (std::size_t i = 0; i < row.scales_at(); ++i) found.codes.push_back(static_cast<std::int8_t>(y[i]));
    found.scales.resize(row.groups());
    found.offsets.resize(row.groups());
    std::memcpy(found.scales.data(), y.data() + row.scales_at(), row.groups() * 4);
    std::memcpy(found.offsets.data(), y.data() + row.offsets_at(), row.groups() * 4);
    return found;
}

TEST(QuantiseRows, TheReferenceIsTheFormula) {
    std::vector<float> x(24, 0.0f);
    x[0] = -254;  // the first group of 8: scale 2
    x[1] = 3;     // 1.5, to even above
    x[2] = 5;     // 2.5, to even below
    x[3] = 253;
    x[8] = 1e-35f;  // the second is nothing
    x[16] = 0.5f;   // the third
    const Quantised found = quantised(x, 8);
    EXPECT_EQ(found.codes[0], -127);
    EXPECT_EQ(found.codes[1], 2);
    EXPECT_EQ(found.codes[2], 2);
    EXPECT_EQ(found.codes[3], 126);
    EXPECT_EQ(found.codes[8], 0);
    EXPECT_EQ(found.codes[16], 127);
    EXPECT_EQ(found.codes.back(), 0);
    EXPECT_EQ(found.codes.size(), 64u);
    EXPECT_EQ(found.scales, (std::vector<float>{2.0f, 0.0f, 0.5f / 127}));
    EXPECT_EQ(found.offsets, (std::vector<std::int32_t>{-128 * (-127 + 2 + 2 + 126), 0, -128 * 127}));
    EXPECT_EQ(quantised(x, 0).scales, std::vector<float>{2.0f});
    for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        x[17] = wrong;
        const Quantised marked = quantised(x, 8);
        EXPECT_TRUE(std::isnan(marked.scales[2]));
        EXPECT_EQ(marked.codes[16], 0);
        EXPECT_EQ(marked.offsets[2], 0);
        EXPECT_EQ(marked.scales[0], 2.0f);
    }
}

void check(const std::vector<float>& x, std::size_t rows, std::size_t width, std::size_t group) {
    const tensor::QuantisedRow row{width, group};
    const std::size_t x_stride = width + 3, y_stride = row.bytes() + 64;
    ASSERT_GE(x.size(), rows * x_stride);
    std::vector<std::byte> expected(rows * y_stride, kUntouched);
    Arguments arguments{x.data(), expected.data(), row, rows, x_stride, y_stride};
    reference(arguments);
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::quantise_rows)) {
        SCOPED_TRACE(name_of(form.set) + ": " + std::to_string(rows) + " x " + std::to_string(width) +
                     " in groups of " + std::to_string(group));
        // Rows in two parts; what lies between rows must not be touched.
        std::vector<std::byte> y(rows * y_stride, kUntouched);
        arguments.y = y.data();
        form.run(arguments, 0, rows / 2);
        form.run(arguments, rows / 2, rows);
        ASSERT_EQ(y, expected);
    }
}

TEST(QuantiseRows, EveryFormEqualsTheReferenceAtEveryTail) {
    const std::vector<float> x = testing::random_floats(5 * 5000, 3);
    for (const std::size_t width :
         {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1024, 1152, 3584, 4304})
        for (const std::size_t group : {0, 8, 32, 64})
            for (const std::size_t rows : {0, 1, 5}) check(x, rows, width, group);
}

TEST(QuantiseRows, EveryFormEqualsTheReferenceOnAwkwardNumbers) {
    check(testing::awkward_floats(1200), 1, 1111, 8);
    // Halves between codes: every product that must go to the even one.
    std::vector<float> x(700, 254.0f);
    for (std::size_t i = 1; i < x.size(); ++i) x[i] = static_cast<float>(i % 255) - 127;
    check(x, 1, 600, 0);
    check(std::vector<float>(100, 0x1p-100f), 1, 64, 32);
    check(std::vector<float>(100, 0x1.fffffep-101f), 1, 64, 32);
}

}  // namespace
}  // namespace inkstone::ops::quantise_rows
