// silu: every form equals the reference bit for bit, whatever range of elements it is given.
#include "ops/silu/silu.h"

#include "testing/elementwise_check.h"

namespace inkstone::ops::silu {

TEST(Silu, EqualsReference) { testing::check_unary<Arguments>(INKSTONE_AVAILABLE_FORMS(ops::silu), reference); }

TEST(Silu, FollowsItsFormula) {
    const float x[] = {-20.0f, -1.0f, 0.0f, 0.5f, 30.0f};
    float y[5];
    reference({x, y, 5});
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(y[i], x[i] / (1 + std::exp(-static_cast<double>(x[i]))), 1e-6) << x[i];
}

}  // namespace inkstone::ops::silu
