// Taking and giving back of pages.
#include "module/kv_pool.h"

#include <algorithm>

namespace inkstone::module {

Result<std::byte*> KvPool::take() {
    if (free_.empty()) {
        INKSTONE_TRY(auto page, backend_->allocate(page_bytes(), "cached keys and values"));
        free_.reserve(pages_.size() + 1);  // so that giving back never allocates
        free_.push_back(page->data());
        pages_.push_back(std::move(page));
    }
    std::byte* page = free_.back();
    free_.pop_back();
    return page;
}

void KvPool::trim() {
    std::erase_if(pages_, [&](const std::unique_ptr<backend::Memory>& page) {
        return std::ranges::find(free_, page->data()) != free_.end();
    });
    free_.clear();
}

Status KvPages::reserve(std::size_t positions) {
    while (this->positions() < positions) {
        INKSTONE_TRY(std::byte * page, pool_->take());
        pages_.push_back(page);
    }
    return {};
}

void KvPages::crop(std::size_t positions) {
    const std::size_t keep = (positions + tensor::kBlockPositions - 1) / tensor::kBlockPositions;
    while (pages_.size() > keep) {
        pool_->give_back(pages_.back());
        pages_.pop_back();
    }
}

}  // namespace inkstone::module
