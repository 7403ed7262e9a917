// Random matrices, packed.
#include "testing/packed_weights.h"

#include <cstring>

#include "testing/buffers.h"

namespace inkstone::testing {

PackedWeights::PackedWeights(tensor::WeightFormat format, std::size_t outputs, std::size_t inputs, std::uint32_t seed)
    : matrix_{format, outputs, inputs, nullptr} {
    const std::size_t bytes = tensor::weight_bytes(format);
    const std::vector<float> floats = random_floats(outputs * inputs, seed);
    std::vector<std::byte> source(floats.size() * bytes);
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &floats[i], sizeof bits);
        // f16: sign, an exponent near 1, and mantissa bits of the random float.
        if (format == tensor::WeightFormat::f16)
            bits = (bits >> 16 & 0x8000u) | 0x3000u | (bits >> 10 & 0x0fffu);
        else if (format == tensor::WeightFormat::bf16)
            bits >>= 16;
        std::memcpy(&source[i * bytes], &bits, bytes);
    }
    pack_bytes(source.data());
}

PackedWeights::PackedWeights(const std::vector<std::uint16_t>& weights, std::size_t outputs, std::size_t inputs)
    : matrix_{tensor::WeightFormat::bf16, outputs, inputs, nullptr} {
    pack_bytes(reinterpret_cast<const std::byte*>(weights.data()));
}

PackedWeights::PackedWeights(tensor::QuantisedFormat format, std::size_t outputs, std::size_t inputs,
                             std::uint32_t seed)
    : PackedWeights(format, random_floats(outputs * inputs, seed), outputs, inputs) {}

PackedWeights::PackedWeights(tensor::QuantisedFormat format, const std::vector<float>& weights, std::size_t outputs,
                             std::size_t inputs)
    : matrix_{format.format, outputs, inputs, nullptr, format.quantisation} {
    std::byte* memory = take_memory();
    quantise({tensor::WeightFormat::f32, outputs, inputs, reinterpret_cast<const std::byte*>(weights.data())}, matrix_,
             memory, 0, matrix_.tiles());
}

std::byte* PackedWeights::take_memory() {
    constexpr std::size_t kAlignment = 64;
    memory_.resize(matrix_.bytes() + kAlignment);
    std::byte* aligned = memory_.data();
    while (reinterpret_cast<std::uintptr_t>(aligned) % kAlignment != 0) ++aligned;
    matrix_.data = aligned;
    return aligned;
}

void PackedWeights::pack_bytes(const std::byte* source) {
    std::byte* aligned = take_memory();
    pack({matrix_.format, matrix_.outputs, matrix_.inputs, source, 1}, matrix_.format, aligned, 0, matrix_.tiles());
}

}  // namespace inkstone::testing
