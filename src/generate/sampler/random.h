// The random numbers of sampling. Each belongs to a seed and a position in the sequence and to nothing else: not to how
// many were drawn before it, so a draft, a batch or a retried step changes no draw.
//
// SplitMix64 (Steele, Lea, Flood 2014) has a state that only counts, so its n-th output is found directly: the number
// at a position is output `position` of the stream that begins at mix(seed). Mixing the seed first keeps the streams of
// neighbouring seeds apart, which otherwise are the same one shifted.
#pragma once

#include <cstdint>

namespace inkstone::generate {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15U;

constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

// Output `index` (from 0) of SplitMix64 started at `state`.
constexpr std::uint64_t split_mix(std::uint64_t state, std::uint64_t index) {
    return mix(state + (index + 1) * kGoldenGamma);
}

// In [0, 1), a multiple of 2^-53. Distinct (seed, position) are independent for all that sampling can see.
constexpr double uniform_at(std::uint64_t seed, std::uint64_t position) {
    return static_cast<double>(split_mix(mix(seed + kGoldenGamma), position) >> 11) * 0x1p-53;
}

}  // namespace inkstone::generate
