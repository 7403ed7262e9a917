// Counts go up and down with the ids; an id that is popped to zero is the last one that was first seen.
#include "generate/sampler/history.h"

#include <algorithm>
#include <cassert>

namespace inkstone::generate {

History::History(std::size_t vocabulary, std::size_t prompt_tokens)
    : prompt_tokens_(prompt_tokens), total_(vocabulary, 0), answered_(vocabulary, 0) {
    seen_.reserve(vocabulary);
}

void History::push(std::int32_t id) {
    const auto index = static_cast<std::size_t>(id);
    assert(index < total_.size());
    if (total_[index]++ == 0) seen_.push_back(id);
    if (ids_.size() >= prompt_tokens_) ++answered_[index];
    ids_.push_back(id);
}

void History::pop() {
    const auto index = static_cast<std::size_t>(ids_.back());
    ids_.pop_back();
    if (ids_.size() >= prompt_tokens_) --answered_[index];
    if (--total_[index] == 0) seen_.pop_back();
}

void History::follow(std::span<const std::int32_t> ids) {
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(ids_, ids).in1 - ids_.begin());
    while (ids_.size() > same) pop();
    for (const std::int32_t id : ids.subspan(same)) push(id);
}

}  // namespace inkstone::generate
