// Arithmetic on numbers that came from a file: every sum and product says whether it fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace inkstone {

// a + b, or nothing when it does not fit in 64 bits.
inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

// a * b, or nothing when it does not fit in 64 bits.
inline std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

// The product of all dimensions (1 for none), or nothing when it does not fit.
inline std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> dimensions) {
    std::uint64_t product = 1;
    for (const std::uint64_t dimension : dimensions) {
        const auto next = checked_multiply(product, dimension);
        if (!next) return std::nullopt;
        product = *next;
    }
    return product;
}

// Whether [offset, offset + length) lies inside [0, size), without a sum that could wrap.
inline bool range_inside(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return offset <= size && length <= size - offset;
}

}  // namespace inkstone
