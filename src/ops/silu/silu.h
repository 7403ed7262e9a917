// SiLU: y = x / (1 + exp(-x)), element by element   (Hendrycks & Gimpel 2016, Elfwing et al. 2018).
#pragma once

#include <cstddef>

namespace inkstone::ops::silu {

struct Arguments {
    const float* x = nullptr;  // [count]
    float* y = nullptr;        // [count], may be x
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

}  // namespace inkstone::ops::silu
