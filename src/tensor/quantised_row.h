// A row of inputs quantised to int8, as ops/quantise_rows writes it and ops/linear_int8 reads it:
//   codes     one signed byte for each input, -127 .. 127, then zeros up to a multiple of 64 bytes
//   scales    a float for each group
//   offsets   an int32 for each group: -128 times the sum of its codes, which is what the weights' codes, stored with
//             128 added, give too much
// The whole row takes a multiple of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inkstone::tensor {

struct QuantisedRow {
    std::size_t inputs = 0;
    std::size_t group = 0;  // inputs that share a scale, a multiple of 8; 0: all

    constexpr std::size_t groups() const { return group == 0 ? 1 : (inputs + group - 1) / group; }
    constexpr std::size_t scales_at() const { return (inputs + 63) / 64 * 64; }
    constexpr std::size_t offsets_at() const { return scales_at() + groups() * sizeof(float); }
    constexpr std::size_t bytes() const { return (offsets_at() + groups() * sizeof(std::int32_t) + 63) / 64 * 64; }
};

}  // namespace inkstone::tensor
