// The one tree by which 16 partial results become one: lane i joins lane i + 8, then i + 4, i + 2, i + 1. Every sum
// over a row (norms, softmax) is taken in 16 lanes and folded like this, in reference loops and in every instruction
// set alike (base/simd/lanes.h folds by the same tree), so that all of them agree bit for bit.
#pragma once

#include <cstddef>

namespace inkstone {

constexpr std::size_t kReductionLanes = 16;

// The sum of 16 lanes.
[[gnu::always_inline]] inline float fold(const float (&lanes)[kReductionLanes]) {
    float tree[kReductionLanes / 2];
    for (std::size_t i = 0; i < 8; ++i) tree[i] = lanes[i] + lanes[i + 8];
    for (std::size_t i = 0; i < 4; ++i) tree[i] = tree[i] + tree[i + 4];
    for (std::size_t i = 0; i < 2; ++i) tree[i] = tree[i] + tree[i + 2];
    return tree[0] + tree[1];
}

}  // namespace inkstone
