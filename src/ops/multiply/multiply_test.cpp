// multiply: every form equals the reference bit for bit, whatever range of elements it is given.
#include "ops/multiply/multiply.h"

#include "testing/elementwise_check.h"

namespace inkstone::ops::multiply {

TEST(Multiply, EqualsReference) {
    testing::check_binary<Arguments>(INKSTONE_AVAILABLE_FORMS(ops::multiply), reference);
}

}  // namespace inkstone::ops::multiply
