// One text in the making: its tokens, their positions, its cached keys and values. Cheap: one per user or page. It
// knows no executor; generate/decoder.h runs the tokens of many sequences together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "module/kv_pool.h"

namespace inkstone::generate {

class Sequence {
public:
    // axes: position axes of the model (4 for xdRoPE). `pool` must outlive the sequence.
    Sequence(module::KvPool& pool, std::size_t axes) : axes_(axes), pages_(pool) {}

    // Appends prompt tokens. positions: [ids, axes], a token's axes together.
    void append(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions);
    // Appends a token whose position is its place on every axis: all that generation adds.
    void append(std::int32_t id);
    // Replaces the embeddings of `rows` tokens from `first` on by rows of `width` floats, borrowed until they are
    // cached.
    void set_visual(std::size_t first, std::size_t rows, const float* data, std::size_t width);
    // Makes room, so that appending up to this many tokens allocates nothing. Errors: out_of_memory.
    Status reserve(std::size_t tokens);
    // Forgets the tokens from `length` on, cached or not.
    void crop(std::size_t length);

    std::size_t axes() const { return axes_; }
    std::size_t size() const { return ids_.size(); }
    std::span<const std::int32_t> ids() const { return ids_; }
    std::span<const std::int32_t> positions() const { return positions_; }
    const float* visual(std::size_t token) const { return token < visual_.size() ? visual_[token] : nullptr; }

    // Tokens whose keys and values are cached: always the first ones.
    std::size_t cached() const { return cached_; }
    void set_cached(std::size_t tokens) { cached_ = tokens; }
    module::KvPages& pages() { return pages_; }
    const module::KvPages& pages() const { return pages_; }

private:
    std::size_t axes_;
    std::vector<std::int32_t> ids_;
    std::vector<std::int32_t> positions_;  // [size, axes]
    std::vector<const float*> visual_;     // of the first tokens; shorter than ids_ when later ones have none
    std::size_t cached_ = 0;
    module::KvPages pages_;
};

}  // namespace inkstone::generate
