// Bookkeeping of tokens and pages.
#include "generate/sequence.h"

#include <algorithm>
#include <cassert>

namespace inkstone::generate {

void Sequence::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions) {
    assert(positions.size() == ids.size() * axes_);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    positions_.insert(positions_.end(), positions.begin(), positions.end());
}

void Sequence::append(std::int32_t id) {
    positions_.insert(positions_.end(), axes_, static_cast<std::int32_t>(ids_.size()));
    ids_.push_back(id);
}

void Sequence::set_visual(std::size_t first, std::size_t rows, const float* data, std::size_t width) {
    assert(first + rows <= ids_.size());
    visual_.resize(std::max(visual_.size(), first + rows), nullptr);
    for (std::size_t row = 0; row < rows; ++row) visual_[first + row] = data + row * width;
}

Status Sequence::reserve(std::size_t tokens) {
    ids_.reserve(tokens);
    positions_.reserve(tokens * axes_);
    return pages_.reserve(tokens);
}

void Sequence::crop(std::size_t length) {
    if (length >= ids_.size()) return;
    ids_.resize(length);
    positions_.resize(length * axes_);
    visual_.resize(std::min(visual_.size(), length));
    cached_ = std::min(cached_, length);
}

}  // namespace inkstone::generate
