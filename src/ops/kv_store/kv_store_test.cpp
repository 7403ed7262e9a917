// KvStore: keys and values stand where tensor/kv_block.h says, padding is zero, nothing else is written; whatever the
// order, alignment and number of rows that are stored together.
#include "ops/kv_store/kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace inkstone::ops::kv_store {
namespace {

struct Row {
    std::uint32_t sequence, position;
};

// Two sequences of three pages; every float of a page that is not written stays NaN.
class Pages {
public:
    explicit Pages(const tensor::KvLayout& layout)
        : memory_(6, std::vector<float>(layout.page_floats(), std::numeric_limits<float>::quiet_NaN())) {
        for (std::size_t s = 0; s < 2; ++s) {
            for (std::size_t b = 0; b < 3; ++b) pages_[s][b] = memory_[s * 3 + b].data();
            sequences_[s] = pages_[s];
        }
    }
    float* const* const* blocks() const { return sequences_; }
    std::size_t written() const {
        std::size_t count = 0;
        for (const auto& page : memory_) {
            for (const float value : page) count += std::isnan(value) ? 0 : 1;
        }
        return count;
    }

private:
    std::vector<std::vector<float>> memory_;
    float* pages_[2][3] = {};
    float* const* sequences_[2] = {};
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
        const float* block = pages.blocks()[rows[r].sequence][rows[r].position / tensor::kBlockPositions] + offset;
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            const float* values = block + layout.key_floats() + (head * tensor::kBlockPositions + lane) * padded;
            for (std::size_t d = 0; d < layout.head_dim; ++d) {
                const std::size_t i = head * layout.head_dim + d;
                ASSERT_EQ(block[i * tensor::kBlockPositions + lane], key(r, i))
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

}  // namespace
}  // namespace inkstone::ops::kv_store
