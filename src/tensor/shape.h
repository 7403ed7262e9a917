// The extents of a tensor, outermost first, held in place: no allocation for a view of a tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "base/checked.h"

namespace inkstone::tensor {

class Shape {
public:
    static constexpr std::size_t kMaxRank = 8;

    Shape() = default;
    // At most kMaxRank extents; asserts.
    Shape(std::initializer_list<std::uint64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
    explicit Shape(std::span<const std::uint64_t> extents) : rank_(extents.size()) {
        assert(extents.size() <= kMaxRank);
        std::copy(extents.begin(), extents.end(), extents_.begin());
    }

    std::size_t rank() const { return rank_; }
    std::uint64_t operator[](std::size_t axis) const { return extents_[axis]; }
    std::span<const std::uint64_t> extents() const { return {extents_.data(), rank_}; }
    // The product of the extents, 1 for a scalar; nothing when it does not fit in 64 bits.
    std::optional<std::uint64_t> element_count() const { return checked_product(extents()); }
    bool operator==(const Shape& other) const { return std::ranges::equal(extents(), other.extents()); }

private:
    std::array<std::uint64_t, kMaxRank> extents_{};
    std::size_t rank_ = 0;
};

// "[1024, 256]", "[]" for a scalar: the form used in messages.
std::string to_string(const Shape& shape);

}  // namespace inkstone::tensor
