// A typed, shaped view of bytes that someone else holds (a mapped file, a buffer). Made by format/, read by model/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/data_type.h"
#include "tensor/shape.h"

namespace inkstone::tensor {

// Row-major, little-endian. bytes.size() = element_count() * bytes_per_element(type). The bytes may lie at ANY
// alignment: files need not align tensors, so read elements by std::memcpy or unaligned loads.
struct TensorView {
    DataType type = DataType::f32;
    Shape shape;
    std::span<const std::byte> bytes;

    std::uint64_t element_count() const { return bytes.size() / bytes_per_element(type); }
};

// A float copy of an f32, f16 or bf16 tensor, exact: for norms, biases and tests, not for large weights.
// Errors: unsupported (another type), mismatch (the bytes do not match shape and type); `subject` names the tensor.
Result<std::vector<float>> to_float(const TensorView& view, std::string_view subject);

}  // namespace inkstone::tensor
