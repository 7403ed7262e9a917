// Walks a range of elements in Lanes: whole ones first, then one masked tail. Kernels of element-by-element operators
// give it what is done with 16 elements.
#pragma once

#include <cstddef>

#include "base/simd/lanes.h"

namespace inkstone::INKSTONE_ISA {

// Sixteen elements from `index` on.
struct WholeAccess {
    std::size_t index;
    INKSTONE_INLINE Lanes load(const float* p) const { return Lanes::load(p + index); }
    INKSTONE_INLINE void store(float* p, Lanes lanes) const { lanes.store(p + index); }
    INKSTONE_INLINE Lanes keep(Lanes lanes) const { return lanes; }
};

// The first `count` of them.
struct TailAccess {
    std::size_t index, count;
    INKSTONE_INLINE Lanes load(const float* p) const { return Lanes::load_first(p + index, count); }
    INKSTONE_INLINE void store(float* p, Lanes lanes) const { lanes.store_first(p + index, count); }
    INKSTONE_INLINE Lanes keep(Lanes lanes) const { return lanes.keep_first(count); }
};

// Calls body(access) for the elements [first, end), 16 at a time; access.load(p) and access.store(p, lanes) reach those
// elements of an array p (load gives +0 beyond the tail), access.keep(lanes) sets what lies beyond the tail to +0.
template <class Body>
INKSTONE_INLINE void for_each_lanes(std::size_t first, std::size_t end, Body body) {
    std::size_t i = first;
    for (; i < end && end - i >= Lanes::kCount; i += Lanes::kCount) body(WholeAccess{i});
    if (i < end) body(TailAccess{i, end - i});
}

}  // namespace inkstone::INKSTONE_ISA
