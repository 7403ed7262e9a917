// Sizes first, one allocation, then each matrix packed by all threads.
#include "module/weights.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tensor/half.h"

namespace inkstone::module {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kTilesPerItem = 8;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::optional<tensor::WeightFormat> weight_format(tensor::DataType type) {
    switch (type) {
        case tensor::DataType::f32:
            return tensor::WeightFormat::f32;
        case tensor::DataType::bf16:
            return tensor::WeightFormat::bf16;
        case tensor::DataType::f16:
            return tensor::WeightFormat::f16;
        default:
            return std::nullopt;
    }
}

Error unsupported_type(const std::string& name, tensor::DataType type) {
    return {ErrorCode::unsupported, "load weights", name,
            "has element type " + std::string(tensor::name_of(type)) + ", expected F32, F16 or BF16"};
}

template <class Work>
Status share(backend::Backend& backend, std::size_t items, Work work) {
    if (!backend.parallel(
            items, [](void* context, std::size_t item) { (*static_cast<Work*>(context))(item); }, &work))
        return Error{ErrorCode::cancelled, "load weights", "", "loading was cancelled before it was done"};
    return {};
}

// Packs tiles [first, end) of a matrix as bf16, rounded to nearest, ties to even.
void pack_rounded(const tensor::MatrixSource& source, std::byte* packed_data, std::size_t first, std::size_t end) {
    tensor::PackedMatrix shape{tensor::WeightFormat::bf16, source.outputs, source.inputs, nullptr};
    const std::size_t first_output = first * tensor::kTileOutputs;
    const std::size_t outputs = std::min(source.outputs, end * tensor::kTileOutputs) - first_output;
    const std::size_t bytes = tensor::weight_bytes(source.format);
    std::vector<std::uint16_t> rows(outputs * source.inputs);
    const std::byte* from = source.data + first_output * source.inputs * bytes;
    for (std::size_t i = 0; i < rows.size(); ++i, from += bytes) {
        if (source.format == tensor::WeightFormat::f32) {
            float value;
            std::memcpy(&value, from, sizeof value);
            rows[i] = tensor::bf16_from_float(value);
        } else {
            std::uint16_t half;
            std::memcpy(&half, from, sizeof half);
            rows[i] = tensor::bf16_from_float(tensor::float_from_f16(half));
        }
    }
    tensor::pack({tensor::WeightFormat::bf16, outputs, source.inputs, reinterpret_cast<const std::byte*>(rows.data()),
                  source.inner},
                 tensor::WeightFormat::bf16, packed_data + first * shape.tile_bytes(), 0, end - first);
}

}  // namespace

Result<Weights> Weights::pack(const graph::Graph& graph, backend::Backend& backend, const LoadHooks& hooks) {
    Weights weights;
    std::vector<tensor::MatrixSource> sources;
    std::size_t total = 0;
    for (const graph::MatrixConstant& constant : graph.matrices) {
        const auto format = weight_format(constant.source.type);
        if (!format) return unsupported_type(constant.name, constant.source.type);
        sources.push_back({*format, constant.outputs, constant.inputs, constant.source.bytes.data(), constant.inner});
    }
    std::vector<tensor::WeightFormat> narrowest(sources.size());
    INKSTONE_CHECK(share(backend, sources.size(),
                         [&](std::size_t item) { narrowest[item] = tensor::narrowest_format(sources[item]); }));
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const tensor::WeightFormat format = graph.matrices[i].bf16 ? tensor::WeightFormat::bf16 : narrowest[i];
        weights.matrices_.push_back({format, sources[i].outputs, sources[i].inputs, nullptr});
        weights.rounded_.push_back(format != narrowest[i]);
        total += aligned(weights.matrices_.back().bytes());
    }
    for (const graph::VectorConstant& constant : graph.vectors) {
        if (!weight_format(constant.source.type)) return unsupported_type(constant.name, constant.source.type);
        total += aligned(constant.count * sizeof(float));
    }
    INKSTONE_TRY(weights.memory_, backend.allocate(total, "weights"));

    std::byte* next = weights.memory_->data();
    std::uint64_t done = 0;
    const auto finished = [&](const tensor::TensorView& source) {
        done += source.bytes.size();
        if (hooks.release) hooks.release(source);
        if (hooks.progress) hooks.progress(done);
    };
    for (std::size_t i = 0; i < sources.size(); ++i) {
        tensor::PackedMatrix& matrix = weights.matrices_[i];
        matrix.data = next;
        const std::size_t tiles = matrix.tiles();
        INKSTONE_CHECK(share(backend, (tiles + kTilesPerItem - 1) / kTilesPerItem, [&, data = next](std::size_t item) {
            const std::size_t first = item * kTilesPerItem, end = std::min(tiles, first + kTilesPerItem);
            if (matrix.format == narrowest[i])
                tensor::pack(sources[i], matrix.format, data, first, end);
            else
                pack_rounded(sources[i], data, first, end);
        }));
        next += aligned(matrix.bytes());
        finished(graph.matrices[i].source);
    }
    for (const graph::VectorConstant& constant : graph.vectors) {
        INKSTONE_TRY(const auto values, tensor::to_float(constant.source, constant.name));
        std::memcpy(next, values.data() + constant.skip, constant.count * sizeof(float));
        weights.vectors_.push_back(reinterpret_cast<const float*>(next));
        next += aligned(constant.count * sizeof(float));
        finished(constant.source);
    }
    return weights;
}

std::string Weights::formats() const {
    std::pair<std::size_t, std::string_view> bytes[] = {{0, "f32"}, {0, "bf16"}, {0, "f16"}};
    for (const tensor::PackedMatrix& matrix : matrices_)
        bytes[static_cast<std::size_t>(matrix.format)].first += matrix.bytes();
    std::sort(std::begin(bytes), std::end(bytes), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string names;
    for (const auto& [count, name] : bytes) {
        if (count == 0) continue;
        if (!names.empty()) names += '+';
        names += name;
    }
    return names;
}

}  // namespace inkstone::module
