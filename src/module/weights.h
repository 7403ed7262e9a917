// The packed weights of one graph: the one copy that all sessions of a module read. Made once from a checkpoint's
// views; immutable afterwards.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/api/backend.h"
#include "base/result.h"
#include "graph/graph.h"
#include "tensor/packed_matrix.h"

namespace inkstone::module {

struct LoadHooks {
    // Copies a part of a constant's source bytes; false when they cannot be read, and then read_failure says why.
    // Called from all threads. Empty: source bytes are plain memory.
    std::function<bool(std::span<const std::byte> part, std::byte* out)> read;
    std::function<Error(std::span<const std::byte> part)> read_failure;
    // Asked with the bytes that the packed weights take, before they are allocated; an error ends the load.
    std::function<Status(std::uint64_t bytes)> admit;
    // Bytes of the checkpoint packed so far.
    std::function<void(std::uint64_t)> progress;
};

class Weights {
public:
    // What the graph's weights take at least when they are packed: exact, but for F32 matrices, which may turn out to
    // need four bytes a weight where two are counted.
    static std::uint64_t least_bytes(const graph::Graph& graph);

    // Packs every constant of the graph into the backend's memory; a constant that several nodes use is packed once.
    // Errors: unsupported (element type, or weights too large for q8 or q4, named with their tensor), out_of_memory,
    // cancelled, those of the hooks.
    static Result<Weights> pack(const graph::Graph& graph, backend::Backend& backend, const LoadHooks& hooks);

    const tensor::PackedMatrix& matrix(graph::Matrix matrix) const { return matrices_[matrix.index]; }
    const float* vector(graph::Vector vector) const { return vectors_[vector.index]; }
    std::size_t bytes() const { return memory_ ? memory_->bytes() : 0; }
    // Whether the matrix was rounded: MatrixConstant::bf16 asked for what is not exact in bf16. Not said of quantised
    // ones.
    bool rounded(graph::Matrix matrix) const { return rounded_[matrix.index]; }
    // Storage formats in use, most bytes first: "bf16", "bf16+f32", ...
    std::string formats() const;

private:
    std::unique_ptr<backend::Memory> memory_;
    std::vector<tensor::PackedMatrix> matrices_;
    std::vector<const float*> vectors_;
    std::vector<bool> rounded_;
};

}  // namespace inkstone::module
