// One allocation, grown when a larger image comes.
#include "module/scratch_blocks.h"

#include <algorithm>
#include <numeric>

namespace inkstone::module {

Result<backend::KvView> ScratchBlocks::prepare(std::size_t rows) {
    const std::size_t bytes = bytes_for(layout_, rows);
    if (bytes > this->bytes()) {
        memory_.reset();  // first, so that both are never held at once
        INKSTONE_TRY(memory_, backend_->allocate(bytes, "keys and values of an image"));
    }
    blocks_.clear();
    std::byte* next = memory_ ? memory_->data() : nullptr;
    for (std::size_t block = 0; block * tensor::kBlockPositions < rows; ++block, next += layout_.block_bytes())
        blocks_.push_back(next);
    sequence_ = blocks_.data();
    row_sequence_.assign(rows, 0);
    row_position_.resize(rows);
    std::iota(row_position_.begin(), row_position_.end(), 0U);
    row_visible_.assign(rows, static_cast<std::uint32_t>(rows));
    return backend::KvView{layout_, &sequence_, row_sequence_.data(), row_position_.data(), row_visible_.data()};
}

}  // namespace inkstone::module
