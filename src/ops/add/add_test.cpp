// add: every form equals the reference bit for bit, whatever range of elements it is given.
#include "ops/add/add.h"

#include "testing/elementwise_check.h"

namespace inkstone::ops::add {

TEST(Add, EqualsReference) { testing::check_binary<Arguments>(INKSTONE_AVAILABLE_FORMS(ops::add), reference); }

}  // namespace inkstone::ops::add
