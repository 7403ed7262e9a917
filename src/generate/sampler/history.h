// Which ids stand in a sequence, and how often in its answer: what the penalties count. Follows the sequence wherever
// it goes, forwards or back, so a choice depends on the ids it is given and not on earlier calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inkstone::generate {

class History {
public:
    // prompt_tokens: the first ids, which are not of the answer. An empty history (vocabulary 0) must not be followed.
    explicit History(std::size_t vocabulary = 0, std::size_t prompt_tokens = 0);
    // So that following up to this many ids allocates nothing.
    void reserve(std::size_t tokens) { ids_.reserve(tokens); }

    // Takes `ids`, the whole sequence, as the state; costs what differs from the ids before.
    void follow(std::span<const std::int32_t> ids);

    // Each id of prompt and answer once, in order of first appearance.
    std::span<const std::int32_t> seen() const { return seen_; }
    // How often an id stands in the answer.
    std::uint32_t answered(std::int32_t id) const { return answered_[static_cast<std::size_t>(id)]; }

private:
    void push(std::int32_t id);
    void pop();

    std::size_t prompt_tokens_;
    std::vector<std::int32_t> ids_, seen_;
    std::vector<std::uint32_t> total_, answered_;  // by id
};

}  // namespace inkstone::generate
