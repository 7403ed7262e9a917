// Text of shapes and the exact float copies of small tensors.
#include "tensor/tensor_view.h"

#include <cstring>

#include "tensor/half.h"

namespace inkstone::tensor {
namespace {

template <class Element, class Convert>
std::vector<float> convert_all(std::span<const std::byte> bytes, Convert convert) {
    std::vector<float> out(bytes.size() / sizeof(Element));
    for (std::size_t i = 0; i < out.size(); ++i) {
        Element element;
        std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
        out[i] = convert(element);
    }
    return out;
}

}  // namespace

std::string to_string(const Shape& shape) {
    std::string out = "[";
    for (const std::uint64_t extent : shape.extents()) {
        if (out.size() > 1) out += ", ";
        out += std::to_string(extent);
    }
    return out + "]";
}

Result<std::vector<float>> to_float(const TensorView& view, std::string_view subject) {
    const auto count = view.shape.element_count();
    const auto bytes = count ? checked_multiply(*count, bytes_per_element(view.type)) : std::nullopt;
    if (!bytes || *bytes != view.bytes.size())
        return Error{ErrorCode::mismatch, "read tensor", std::string(subject),
                     "has " + std::to_string(view.bytes.size()) + " bytes, which is not what shape " +
                         to_string(view.shape) + " of " + std::string(name_of(view.type)) + " takes"};
    switch (view.type) {
        case DataType::f32:
            return convert_all<float>(view.bytes, [](float value) { return value; });
        case DataType::f16:
            return convert_all<std::uint16_t>(view.bytes, [](std::uint16_t b) { return float_from_f16(b); });
        case DataType::bf16:
            return convert_all<std::uint16_t>(view.bytes, [](std::uint16_t b) { return float_from_bf16(b); });
        default:
            return Error{ErrorCode::unsupported, "read tensor", std::string(subject),
                         "has type " + std::string(name_of(view.type)) + ", expected F32, F16 or BF16"};
    }
}

}  // namespace inkstone::tensor
