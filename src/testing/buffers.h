// Buffers, numbers and comparison for kernel tests: output buffers that notice a write outside, seeded random numbers
// with the awkward values in, and equality bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace inkstone::testing {

// `count` floats between two guards of 64 floats each. Everything begins as a pattern that is a signalling NaN, so that
// an element nobody wrote shows as well.
class GuardedFloats {
public:
    explicit GuardedFloats(std::size_t count);
    float* data() { return storage_.data() + kGuard; }
    const float* data() const { return storage_.data() + kGuard; }
    std::size_t size() const { return storage_.size() - 2 * kGuard; }
    void assign(const std::vector<float>& values);
    // Whether both guards still hold the pattern.
    bool guards_intact() const;
    // Whether element `index` still holds the pattern.
    bool untouched(std::size_t index) const;

private:
    static constexpr std::size_t kGuard = 64;
    std::vector<float> storage_;
};

// Standard normal numbers times `scale`; the same for the same seed on every machine.
std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float scale = 1.0f);

// Signed zeros, denormals, the extremes, infinities and NaN, repeated over `count` elements.
std::vector<float> awkward_floats(std::size_t count);

// Equal bits; two NaN of any kind count as equal, since their payload and sign differ between instruction sets.
bool same_bits(float a, float b);

// Success when all `count` elements have the same bits, otherwise the first difference.
::testing::AssertionResult same_bits(const float* found, const float* expected, std::size_t count);

}  // namespace inkstone::testing
