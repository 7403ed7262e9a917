// rotate_half: every form equals the reference bit for bit, in place too; a turn by cos 0, sin 1 swaps the halves.
#include "ops/rotate_half/rotate_half.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/elementwise_check.h"

namespace inkstone::ops::rotate_half {
namespace {

using inkstone::testing::GuardedFloats;
using inkstone::testing::random_floats;
using inkstone::testing::same_bits;

TEST(RotateHalf, EqualsReference) {
    for (const std::size_t head_dim : {2, 6, 30, 32, 34, 72, 128})
        for (const std::size_t heads : {1, 3})
            for (const std::size_t rows : {0, 1, 5, 38}) {
                const std::size_t count = rows * heads * head_dim;
                const std::vector<float> x = random_floats(count, 1), cosine = random_floats(rows * head_dim, 2),
                                         sine = random_floats(rows * head_dim, 3);
                std::vector<float> expected(count);
                Arguments arguments{x.data(), expected.data(), cosine.data(), sine.data(), rows, heads, head_dim};
                reference(arguments);
                for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::rotate_half)) {
                    SCOPED_TRACE(name_of(form.set) + " head_dim " + std::to_string(head_dim));
                    GuardedFloats y(count), in_place(count);
                    arguments.x = x.data();
                    arguments.y = y.data();
                    testing::in_odd_pieces(
                        rows, [&](std::size_t begin, std::size_t end) { form.run(arguments, begin, end); });
                    in_place.assign(x);
                    arguments.x = arguments.y = in_place.data();
                    form.run(arguments, 0, rows);
                    EXPECT_TRUE(same_bits(y.data(), expected.data(), count));
                    EXPECT_TRUE(same_bits(in_place.data(), expected.data(), count));
                    EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
                }
            }
}

TEST(RotateHalf, AQuarterTurnSwapsTheHalves) {
    const float x[] = {1, 2, 3, 4}, cosine[] = {0, 0, 0, 0}, sine[] = {1, 1, 1, 1};
    float y[4];
    reference({x, y, cosine, sine, 1, 1, 4});
    EXPECT_EQ(y[0], -3);
    EXPECT_EQ(y[1], -4);
    EXPECT_EQ(y[2], 1);
    EXPECT_EQ(y[3], 2);
}

}  // namespace
}  // namespace inkstone::ops::rotate_half
