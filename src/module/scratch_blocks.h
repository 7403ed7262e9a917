// Keys and values of one layer at a time, for attention inside one image: blocks that each layer writes anew, so that
// memory grows linearly with the number of patches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/api/backend.h"
#include "base/result.h"

namespace inkstone::module {

class ScratchBlocks {
public:
    // layout.layers is 1.
    ScratchBlocks(backend::Backend& backend, const tensor::KvLayout& layout) : backend_(&backend), layout_(layout) {}

    // Blocks for this many rows, every row seeing all of them. The view is valid until the next call.
    // Errors: out_of_memory.
    Result<backend::KvView> prepare(std::size_t rows);

    // Gives the memory back; the next call of prepare takes new memory.
    void release() { memory_.reset(); }

    static std::size_t bytes_for(const tensor::KvLayout& layout, std::size_t rows) {
        return (rows + tensor::kBlockPositions - 1) / tensor::kBlockPositions * layout.block_bytes();
    }
    std::size_t bytes() const { return memory_ ? memory_->bytes() : 0; }

private:
    backend::Backend* backend_;
    tensor::KvLayout layout_;
    std::unique_ptr<backend::Memory> memory_;
    std::vector<std::byte*> blocks_;
    std::byte* const* sequence_ = nullptr;  // blocks_ as the one sequence's page table
    std::vector<std::uint32_t> row_sequence_, row_position_, row_visible_;
};

}  // namespace inkstone::module
