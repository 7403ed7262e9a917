// KvStore: keys and values stand where tensor/kv_block.h says, padding is zero, nothing else is written; whatever the
// order, alignment and number of rows that are stored together.
#include "ops/kv_store/kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/half.h"
#include "testing/buffers.h"

namespace inkstone::ops::kv_store {
namespace {

struct Row {
    std::uint32_t sequence, position;
};

// Two sequences of three pages; every float of a page that is not written stays NaN.
class Pages {
public:
    explicit Pages(const tensor::KvLayout& layout)
        : memory_(6, std::vector<float>(layout.page_bytes() / sizeof(float), std::numeric_limits<float>::quiet_NaN())) {
        for (std::size_t s = 0; s < 2; ++s) {
            for (std::size_t b = 0; b < 3; ++b) pages_[s][b] = reinterpret_cast<std::byte*>(memory_[s * 3 + b].data());
            sequences_[s] = pages_[s];
        }
    }
    std::byte* const* const* blocks() const { return sequences_; }
    std::size_t written() const {
        std::size_t count = 0;
        for (const auto& page : memory_) {
            for (const float value : page) count += std::isnan(value) ? 0 : 1;
        }
        return count;
    }

private:
    std::vector<std::vector<float>> memory_;
    std::byte* pages_[2][3] = {};
    std::byte* const* sequences_[2] = {};
};

float key(std::size_t row, std::size_t i) { return static_cast<float>(row * 1000 + i) + 0.25f; }
float value(std::size_t row, std::size_t i) { return -static_cast<float>(row * 1000 + i) - 0.5f; }

void check(const tensor::KvLayout& layout, const std::vector<Row>& rows, std::size_t part) {
    const std::size_t width = layout.kv_heads * layout.head_dim, padded = layout.padded_head_dim();
    std::vector<float> k, v;
    std::vector<std::uint32_t> sequence, position;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t i = 0; i < width; ++i) k.push_back(key(r, i)), v.push_back(value(r, i));
        sequence.push_back(rows[r].sequence);
        position.push_back(rows[r].position);
    }
    const Pages pages(layout);
    const std::size_t offset = layout.layer_offset(1);
    const Arguments arguments{.k = k.data(),
                              .v = v.data(),
                              .blocks = pages.blocks(),
                              .row_sequence = sequence.data(),
                              .row_position = position.data(),
                              .rows = rows.size(),
                              .block_offset = offset,
                              .layout = layout};
    for (std::size_t r = 0; r < rows.size(); r += part) run(arguments, r, std::min(r + part, rows.size()));

    EXPECT_EQ(pages.written(), rows.size() * layout.kv_heads * (layout.head_dim + padded));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::size_t lane = rows[r].position % tensor::kBlockPositions;
        const std::byte* block = pages.blocks()[rows[r].sequence][rows[r].position / tensor::kBlockPositions] + offset;
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            const auto* keys = reinterpret_cast<const float*>(block + layout.key_offset(head));
            const auto* values = reinterpret_cast<const float*>(block + layout.value_offset(head)) + lane * padded;
            for (std::size_t d = 0; d < layout.head_dim; ++d) {
                const std::size_t i = head * layout.head_dim + d;
                ASSERT_EQ(keys[d * tensor::kBlockPositions + lane], key(r, i))
                    << "row " << r << ", head " << head << ", " << d;
                ASSERT_EQ(values[d], value(r, i)) << "row " << r << ", head " << head << ", " << d;
            }
            for (std::size_t d = layout.head_dim; d < padded; ++d) ASSERT_EQ(values[d], 0.0f);
        }
    }
}

TEST(KvStore, PutsRowsWhereTheLayoutSays) {
    for (const std::size_t head_dim : {1, 16, 24, 72}) {
        const tensor::KvLayout layout{.layers = 3, .kv_heads = 2, .head_dim = head_dim};
        std::vector<Row> prompt;  // across two page boundaries, from an odd position
        for (std::uint32_t p = 5; p < 150; ++p) prompt.push_back({1, p});
        check(layout, prompt, prompt.size());
        check(layout, prompt, 37);
        check(layout, prompt, 1);
        // Several sequences in one step; neighbours that do not follow each other.
        check(layout, {{0, 63}, {0, 64}, {1, 65}, {1, 66}, {0, 2}, {0, 1}, {1, 0}, {0, 130}}, 8);
    }
}

// Blocks of bf16: every row and every part by itself, all halves that belong to no stored row keep what they held.
class Halves {
public:
    explicit Halves(const tensor::KvLayout& layout) : memory_(3, std::vector<std::uint16_t>(layout.page_bytes() / 2)) {
        for (std::size_t b = 0; b < 3; ++b) {
            for (std::size_t i = 0; i < memory_[b].size(); ++i) memory_[b][i] = kept(i);
            pages_[b] = reinterpret_cast<std::byte*>(memory_[b].data());
        }
    }
    static std::uint16_t kept(std::size_t i) { return static_cast<std::uint16_t>(0x7f80u | i % 0x7f); }
    std::byte* const* const* blocks() const { return &sequence_; }
    std::vector<std::vector<std::uint16_t>>& memory() { return memory_; }

private:
    std::vector<std::vector<std::uint16_t>> memory_;
    std::byte* pages_[3] = {};
    std::byte* const* sequence_ = pages_;
};

void check_bf16(std::size_t head_dim, const std::vector<std::uint32_t>& positions, std::size_t part) {
    const tensor::KvLayout layout{.layers = 2, .kv_heads = 2, .head_dim = head_dim, .storage = tensor::KvStorage::bf16};
    const std::size_t width = layout.kv_heads * head_dim, padded = layout.padded_head_dim();
    std::vector<float> k = testing::random_floats(positions.size() * width, 1);
    std::vector<float> v = testing::random_floats(positions.size() * width, 2);
    const std::vector<float> awkward = testing::awkward_floats(std::min<std::size_t>(k.size(), 46));
    for (std::size_t i = 0; i < awkward.size(); i += 2) k[k.size() - 1 - i] = v[i] = awkward[i];
    Halves found(layout), expected(layout);
    const std::vector<std::uint32_t> sequence(positions.size(), 0);
    const Arguments arguments{.k = k.data(),
                              .v = v.data(),
                              .blocks = found.blocks(),
                              .row_sequence = sequence.data(),
                              .row_position = positions.data(),
                              .rows = positions.size(),
                              .block_offset = layout.layer_offset(1),
                              .layout = layout};
    for (std::size_t r = 0; r < positions.size(); r += part) run(arguments, r, std::min(r + part, positions.size()));
    for (std::size_t r = 0; r < positions.size(); ++r) {
        const std::size_t lane = positions[r] % tensor::kBlockPositions;
        std::uint16_t* block =
            expected.memory()[positions[r] / tensor::kBlockPositions].data() + layout.layer_offset(1) / 2;
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            std::uint16_t* keys = block + layout.key_offset(head) / 2;
            std::uint16_t* values = block + layout.value_offset(head) / 2 + lane / 2 * padded * 2 + lane % 2;
            for (std::size_t d = 0; d < head_dim; ++d) {
                const std::size_t at = r * width + head * head_dim + d;
                keys[(d / 2 * tensor::kBlockPositions + lane) * 2 + d % 2] = tensor::bf16_from_float(k[at]);
                values[2 * d] = tensor::bf16_from_float(v[at]);
            }
            for (std::size_t d = head_dim; d < padded; ++d) values[2 * d] = 0;
        }
    }
    for (std::size_t b = 0; b < 3; ++b)
        ASSERT_EQ(found.memory()[b], expected.memory()[b]) << "head_dim " << head_dim << ", part " << part;
}

TEST(KvStore, RoundsIntoBlocksOfBf16) {
    for (const std::size_t head_dim : {2, 16, 24, 72, 128}) {
        std::vector<std::uint32_t> prompt;  // across two page boundaries, from an odd position
        for (std::uint32_t p = 5; p < 150; ++p) prompt.push_back(p);
        for (const std::size_t part : {145, 64, 37, 16, 2, 1}) check_bf16(head_dim, prompt, part);
        // Neighbours that do not follow each other, and lone halves of pairs.
        check_bf16(head_dim, {63, 64, 66, 67, 2, 1, 0, 130}, 8);
    }
}

}  // namespace
}  // namespace inkstone::ops::kv_store
