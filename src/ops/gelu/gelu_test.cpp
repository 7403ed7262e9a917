// gelu: every form equals the reference bit for bit, whatever range of elements it is given.
#include "ops/gelu/gelu.h"

#include "testing/elementwise_check.h"

namespace inkstone::ops::gelu {

TEST(Gelu, EqualsReference) { testing::check_unary<Arguments>(INKSTONE_AVAILABLE_FORMS(ops::gelu), reference); }

TEST(Gelu, FollowsItsFormula) {
    const float x[] = {-6.0f, -1.0f, 0.0f, 0.5f, 30.0f};
    float y[5];
    reference({x, y, 5});
    for (int i = 0; i < 5; ++i)
        EXPECT_NEAR(y[i], 0.5 * x[i] * (1 + std::erf(static_cast<double>(x[i]) / std::sqrt(2.0))), 1e-6) << x[i];
}

}  // namespace inkstone::ops::gelu
