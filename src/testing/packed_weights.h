// Packed matrices for tests and benchmarks of products, and the shapes of the models' products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/packed_matrix.h"

namespace inkstone::testing {

// Outputs and inputs of a product.
struct ProductShape {
    std::size_t outputs, inputs;
};

// The products of the full-size model: vision tower, merger, decoder, LM head.
constexpr ProductShape kVisionShapes[] = {{1152, 1152}, {3456, 1152}, {4304, 1152}, {1152, 4304}, {4608, 4608}};
constexpr ProductShape kDecoderShapes[] = {{1024, 1024}, {4096, 1024}, {1024, 2048}, {3584, 1024}, {1024, 3584}};
constexpr ProductShape kHeadShape = {120818, 1024};

// A packed matrix that owns its memory.
class PackedWeights {
public:
    // Random weights; the same for the same seed.
    PackedWeights(tensor::WeightFormat format, std::size_t outputs, std::size_t inputs, std::uint32_t seed = 11);
    // `weights`, [outputs, inputs] in format bf16.
    PackedWeights(const std::vector<std::uint16_t>& weights, std::size_t outputs, std::size_t inputs);

    // Quantised: random weights or `weights`, [outputs, inputs].
    PackedWeights(tensor::QuantisedFormat format, std::size_t outputs, std::size_t inputs, std::uint32_t seed = 11);
    PackedWeights(tensor::QuantisedFormat format, const std::vector<float>& weights, std::size_t outputs,
                  std::size_t inputs);

    const tensor::PackedMatrix& matrix() const { return matrix_; }

private:
    std::byte* take_memory();
    void pack_bytes(const std::byte* source);

    tensor::PackedMatrix matrix_;
    std::vector<std::byte> memory_;
};

}  // namespace inkstone::testing
