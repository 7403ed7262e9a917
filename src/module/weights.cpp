// Sizes first, one allocation, then each matrix read and packed by all threads.
#include "module/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "tensor/half.h"

namespace inkstone::module {
namespace {

constexpr std::size_t kAlignment = 64;

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

// A matrix is read and packed in pieces of whole tiles and about a mebibyte.
std::size_t tiles_per_piece(const tensor::MatrixSource& source) {
    constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
    const std::size_t tile = tensor::kTileOutputs * source.inputs * tensor::weight_bytes(source.format);
    return std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(1, tile));
}

std::size_t pieces_of(const tensor::MatrixSource& source) {
    const std::size_t outputs = tiles_per_piece(source) * tensor::kTileOutputs;
    return (source.outputs + outputs - 1) / outputs;
}

// The rows of a piece, as a matrix of its own.
tensor::MatrixSource piece_of(const tensor::MatrixSource& source, std::size_t piece) {
    const std::size_t outputs = tiles_per_piece(source) * tensor::kTileOutputs, first = piece * outputs;
    tensor::MatrixSource part = source;
    part.outputs = std::min(outputs, source.outputs - first);
    part.data = source.data + first * source.inputs * tensor::weight_bytes(source.format);
    return part;
}

std::span<const std::byte> bytes_of(const tensor::MatrixSource& source) {
    return {source.data, source.outputs * source.inputs * tensor::weight_bytes(source.format)};
}

// Hands pieces to all threads, each copied out of its file first: looking at a mapped file that is cut meanwhile would
// end the process. There are as many rooms for copies as threads, so that a thread always finds one free.
class PieceReader {
public:
    static Result<PieceReader> create(const std::vector<tensor::MatrixSource>& sources, backend::Backend& backend,
                                      const LoadHooks& hooks) {
        PieceReader reader(backend, hooks);
        if (!hooks.read) return reader;
        for (const tensor::MatrixSource& source : sources)
            if (source.outputs > 0)
                reader.room_bytes_ = std::max(reader.room_bytes_, aligned(bytes_of(piece_of(source, 0)).size()));
        reader.rooms_ = static_cast<std::size_t>(backend.threads());
        reader.taken_ = std::make_unique<std::atomic_flag[]>(reader.rooms_);
        INKSTONE_TRY(reader.memory_, backend.allocate(reader.rooms_ * reader.room_bytes_, "reading weights"));
        return reader;
    }

    // Calls work(piece, its rows in memory) for every piece of the matrix.
    template <class Work>
    Status each(const tensor::MatrixSource& source, const Work& work) const {
        constexpr std::size_t kNone = SIZE_MAX;
        std::atomic<std::size_t> failed{kNone};
        INKSTONE_CHECK(share(backend_, pieces_of(source), [&](std::size_t piece) {
            tensor::MatrixSource part = piece_of(source, piece);
            if (!hooks_.read) return work(piece, part);
            if (failed.load(std::memory_order_relaxed) != kNone) return;
            std::size_t room = 0;
            while (taken_[room].test_and_set(std::memory_order_acquire)) room = (room + 1) % rooms_;
            std::byte* copy = memory_->data() + room * room_bytes_;
            if (hooks_.read(bytes_of(part), copy)) {
                part.data = copy;
                work(piece, part);
            } else {
                failed = piece;
            }
            taken_[room].clear(std::memory_order_release);
        }));
        if (failed != kNone) return hooks_.read_failure(bytes_of(piece_of(source, failed)));
        return {};
    }

private:
    PieceReader(backend::Backend& backend, const LoadHooks& hooks) : backend_(backend), hooks_(hooks) {}

    backend::Backend& backend_;
    const LoadHooks& hooks_;
    std::size_t room_bytes_ = 0, rooms_ = 0;
    std::unique_ptr<std::atomic_flag[]> taken_;
    std::unique_ptr<backend::Memory> memory_;
};

// The narrowest format that holds all of the matrix; only F32 is looked through for it.
Result<tensor::WeightFormat> narrowest_format(const tensor::MatrixSource& source, const PieceReader& pieces) {
    if (source.format != tensor::WeightFormat::f32) return source.format;
    std::atomic<bool> wide{false};
    INKSTONE_CHECK(pieces.each(source, [&](std::size_t, const tensor::MatrixSource& part) {
        if (!wide.load(std::memory_order_relaxed) && tensor::narrowest_format(part) == tensor::WeightFormat::f32)
            wide = true;
    }));
    return wide ? tensor::WeightFormat::f32 : tensor::WeightFormat::bf16;
}

// Packs a matrix as bf16, rounded to nearest, ties to even.
void pack_rounded(const tensor::MatrixSource& source, std::byte* packed_data, std::size_t tiles) {
    std::vector<std::uint16_t> rows(source.outputs * source.inputs);
    const std::byte* from = source.data;
    for (std::uint16_t& rounded : rows) {
        if (source.format == tensor::WeightFormat::f32) {
            float value;
            std::memcpy(&value, from, sizeof value);
            rounded = tensor::bf16_from_float(value);
        } else {
            std::uint16_t half;
            std::memcpy(&half, from, sizeof half);
            rounded = tensor::bf16_from_float(tensor::float_from_f16(half));
        }
        from += tensor::weight_bytes(source.format);
    }
    tensor::pack({tensor::WeightFormat::bf16, source.outputs, source.inputs,
                  reinterpret_cast<const std::byte*>(rows.data()), source.inner},
                 tensor::WeightFormat::bf16, packed_data, 0, tiles);
}

// The matrix as it is kept, without memory: as its products ask for, or else in the narrowest format.
tensor::PackedMatrix packed_shape(const graph::MatrixConstant& constant, tensor::WeightFormat narrowest) {
    if (constant.quantised)
        return {constant.quantised->format, constant.outputs, constant.inputs, nullptr,
                constant.quantised->quantisation};
    return {constant.bf16 ? tensor::WeightFormat::bf16 : narrowest, constant.outputs, constant.inputs, nullptr};
}

Error too_large(const graph::MatrixConstant& constant, float magnitude) {
    const bool q4 = constant.quantised->format == tensor::WeightFormat::q4;
    return {ErrorCode::unsupported, "load weights", constant.name,
            "has a weight of magnitude " + std::to_string(magnitude) + ", expected at most " +
                std::to_string(65504 * (q4 ? 8 : 127)) + " for precision " + (q4 ? "q4" : "q8") +
                "; choose precision bf16 or f32"};
}

// The values of a small constant.
Result<std::vector<float>> values_of(const graph::VectorConstant& constant, const LoadHooks& hooks) {
    tensor::TensorView view = constant.source;
    std::vector<std::byte> copy;
    if (hooks.read) {
        copy.resize(view.bytes.size());
        if (!hooks.read(view.bytes, copy.data())) return hooks.read_failure(view.bytes);
        view.bytes = copy;
    }
    return tensor::to_float(view, constant.name);
}

}  // namespace

std::uint64_t Weights::least_bytes(const graph::Graph& graph) {
    std::uint64_t total = 0;
    for (const graph::MatrixConstant& constant : graph.matrices)
        total += aligned(packed_shape(constant, tensor::WeightFormat::bf16).bytes());
    for (const graph::VectorConstant& constant : graph.vectors) total += aligned(constant.count * sizeof(float));
    return total;
}

Result<Weights> Weights::pack(const graph::Graph& graph, backend::Backend& backend, const LoadHooks& hooks) {
    Weights weights;
    std::vector<tensor::MatrixSource> sources;
    std::size_t total = 0;
    for (const graph::MatrixConstant& constant : graph.matrices) {
        const auto format = weight_format(constant.source.type);
        if (!format) return unsupported_type(constant.name, constant.source.type);
        sources.push_back({*format, constant.outputs, constant.inputs, constant.source.bytes.data(), constant.inner});
    }
    INKSTONE_TRY(const PieceReader pieces, PieceReader::create(sources, backend, hooks));
    std::vector<tensor::WeightFormat> narrowest(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const bool quantised = graph.matrices[i].quantised.has_value();
        if (!quantised) {
            INKSTONE_TRY(narrowest[i], narrowest_format(sources[i], pieces));
        }
        weights.matrices_.push_back(packed_shape(graph.matrices[i], narrowest[i]));
        weights.rounded_.push_back(!quantised && weights.matrices_.back().format != narrowest[i]);
        total += aligned(weights.matrices_.back().bytes());
    }
    for (const graph::VectorConstant& constant : graph.vectors) {
        if (!weight_format(constant.source.type)) return unsupported_type(constant.name, constant.source.type);
        total += aligned(constant.count * sizeof(float));
    }
    if (hooks.admit) INKSTONE_CHECK(hooks.admit(total));
    INKSTONE_TRY(weights.memory_, backend.allocate(total, "weights"));

    std::byte* next = weights.memory_->data();
    std::uint64_t done = 0;
    const auto finished = [&](const tensor::TensorView& source) {
        done += source.bytes.size();
        if (hooks.progress) hooks.progress(done);
    };
    for (std::size_t i = 0; i < sources.size(); ++i) {
        tensor::PackedMatrix& matrix = weights.matrices_[i];
        matrix.data = next;
        const std::size_t piece_bytes = tiles_per_piece(sources[i]) * matrix.tile_bytes();
        std::atomic<float> magnitude{0};  // of a weight that is too large to be quantised
        INKSTONE_CHECK(pieces.each(sources[i], [&](std::size_t piece, const tensor::MatrixSource& part) {
            const std::size_t tiles = (part.outputs + tensor::kTileOutputs - 1) / tensor::kTileOutputs;
            if (tensor::is_quantised(matrix.format)) {
                const float found = tensor::quantise(part, matrix, next + piece * piece_bytes, 0, tiles);
                if (found > 0) magnitude = found;
            } else if (matrix.format == narrowest[i])
                tensor::pack(part, matrix.format, next + piece * piece_bytes, 0, tiles);
            else
                pack_rounded(part, next + piece * piece_bytes, tiles);
        }));
        if (magnitude > 0) return too_large(graph.matrices[i], magnitude);
        next += aligned(matrix.bytes());
        finished(graph.matrices[i].source);
    }
    for (const graph::VectorConstant& constant : graph.vectors) {
        INKSTONE_TRY(const auto values, values_of(constant, hooks));
        std::memcpy(next, values.data() + constant.skip, constant.count * sizeof(float));
        weights.vectors_.push_back(reinterpret_cast<const float*>(next));
        next += aligned(constant.count * sizeof(float));
        finished(constant.source);
    }
    return weights;
}

std::string Weights::formats() const {
    std::pair<std::size_t, std::string_view> bytes[] = {{0, "f32"}, {0, "bf16"}, {0, "f16"}, {0, "q8"}, {0, "q4"}};
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
