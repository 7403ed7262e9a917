// See buffers.h. std::normal_distribution differs between standard libraries, so the numbers are made here.
#include "testing/buffers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace inkstone::testing {
namespace {

constexpr std::uint32_t kPattern = 0x7fa5c3e1;

std::uint32_t bits_of(const float* p) {
    std::uint32_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return bits;
}

}  // namespace

GuardedFloats::GuardedFloats(std::size_t count) : storage_(count + 2 * kGuard) {
    for (float& element : storage_) std::memcpy(&element, &kPattern, sizeof kPattern);
}

void GuardedFloats::assign(const std::vector<float>& values) { std::copy(values.begin(), values.end(), data()); }

bool GuardedFloats::guards_intact() const {
    for (std::size_t i = 0; i < kGuard; ++i)
        if (bits_of(&storage_[i]) != kPattern || bits_of(&storage_[storage_.size() - 1 - i]) != kPattern) return false;
    return true;
}

bool GuardedFloats::untouched(std::size_t index) const { return bits_of(data() + index) == kPattern; }

std::vector<float> random_floats(std::size_t count, std::uint32_t seed, float scale) {
    // The sum of four uniform numbers is near enough to normal and exactly the same everywhere.
    std::mt19937 generator(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) sum += generator() / 4294967296.0 - 0.5;
        value = static_cast<float>(sum * std::sqrt(3.0)) * scale;
    }
    return values;
}

std::vector<float> awkward_floats(std::size_t count) {
    using Limits = std::numeric_limits<float>;
    const float values[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            Limits::denorm_min(),
                            -Limits::denorm_min(),
                            Limits::min(),
                            -Limits::min(),
                            Limits::max(),
                            Limits::lowest(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            88.5f,
                            -88.5f,
                            104.0f,
                            -104.0f,
                            0.5f,
                            1e-20f,
                            -1e-20f,
                            1e20f,
                            0.9f,
                            4.1f};
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = values[i % std::size(values)];
    return all;
}

bool same_bits(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

::testing::AssertionResult same_bits(const float* found, const float* expected, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        if (!same_bits(found[i], expected[i]))
            return ::testing::AssertionFailure()
                   << "element " << i << " of " << count << ": found " << found[i] << ", expected " << expected[i];
    return ::testing::AssertionSuccess();
}

}  // namespace inkstone::testing
