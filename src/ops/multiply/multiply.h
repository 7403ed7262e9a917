// Multiply: y = a * b, element by element.
#pragma once

#include <cstddef>

namespace inkstone::ops::multiply {

struct Arguments {
    const float* a = nullptr;  // [count]
    const float* b = nullptr;  // [count]
    float* y = nullptr;        // [count], may be a or b
    std::size_t count = 0;
};

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Elements [first, end). Disjoint ranges may run at once.
using Kernel = void (*)(const Arguments&, std::size_t first, std::size_t end);

namespace portable {
void run(const Arguments&, std::size_t, std::size_t);
}
namespace avx2 {
void run(const Arguments&, std::size_t, std::size_t);
}
namespace avx512 {
void run(const Arguments&, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::multiply
