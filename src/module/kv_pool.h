// Pages of cached keys and values: 64 positions of all layers each. A pool lends pages to sequences and takes them
// back; memory once taken from the system is kept for reuse. Not thread safe: its owner serialises.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/api/backend.h"
#include "base/result.h"
#include "tensor/kv_block.h"

namespace inkstone::module {

class KvPool {
public:
    KvPool(backend::Backend& backend, const tensor::KvLayout& layout) : backend_(&backend), layout_(layout) {}

    const tensor::KvLayout& layout() const { return layout_; }
    std::size_t page_bytes() const { return layout_.page_bytes(); }
    std::size_t pages_lent() const { return pages_.size() - free_.size(); }
    std::size_t bytes() const { return pages_.size() * page_bytes(); }

    // A page with any content. Errors: out_of_memory.
    Result<std::byte*> take();
    void give_back(std::byte* page) { free_.push_back(page); }
    // Returns the memory of pages that nobody has to the system.
    void trim();

private:
    backend::Backend* backend_;
    tensor::KvLayout layout_;
    std::vector<std::unique_ptr<backend::Memory>> pages_;
    std::vector<std::byte*> free_;
};

// The pages of one sequence, in order of position. Movable; gives its pages back.
class KvPages {
public:
    explicit KvPages(KvPool& pool) : pool_(&pool) {}
    KvPages(KvPages&& other) noexcept : pool_(other.pool_), pages_(std::move(other.pages_)) { other.pages_.clear(); }
    KvPages& operator=(KvPages&&) = delete;
    ~KvPages() { crop(0); }

    // Makes room for this many positions. Errors: out_of_memory; pages taken before it are kept.
    Status reserve(std::size_t positions);
    // Gives back the pages beyond this many positions.
    void crop(std::size_t positions);

    std::byte* const* blocks() const { return pages_.data(); }
    std::size_t positions() const { return pages_.size() * tensor::kBlockPositions; }

private:
    KvPool* pool_;
    std::vector<std::byte*> pages_;
};

}  // namespace inkstone::module
