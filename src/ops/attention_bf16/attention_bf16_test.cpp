// Attention in BF16 arithmetic: every instruction set against the reference loops, bit for bit, whatever the rows,
// heads and splits, with NaN in all memory that nobody may see; and the reference against softmax attention in double.
#include "ops/attention_bf16/attention_bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tensor/half.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone::ops::attention_bf16 {
namespace {

using testing::GuardedFloats;
using testing::random_floats;
using testing::same_bits;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What a batch looks like: the rows of each sequence and how many positions each of them sees.
using Batch = std::vector<std::vector<std::uint32_t>>;

struct Shape {
    std::size_t heads, kv_heads, head_dim;
};

// A batch with random queries, keys and values. Positions that no row of the sequence sees, the padding of values, and
// the other layers of each page are NaN.
class Problem {
public:
    Problem(const Shape& shape, const Batch& batch, float query_scale = 1.0f, float value_scale = 1.0f) {
        const tensor::KvLayout layout{
            .layers = 3, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .storage = tensor::KvStorage::bf16};
        const std::size_t offset = layout.layer_offset(1);
        std::uint32_t seed = 1;
        pages_.resize(batch.size());
        for (std::size_t sequence = 0; sequence < batch.size(); ++sequence) {
            std::size_t positions = 0;
            for (const std::uint32_t visible : batch[sequence]) {
                row_sequence_.push_back(static_cast<std::uint32_t>(sequence));
                row_visible_.push_back(visible);
                positions = std::max<std::size_t>(positions, visible);
            }
            for (std::size_t first = 0; first < positions; first += tensor::kBlockPositions) {
                const std::size_t count = std::min(positions - first, tensor::kBlockPositions);
                memory_.push_back(std::vector<float>(layout.page_bytes() / sizeof(float), kNaN));
                auto* page = reinterpret_cast<std::byte*>(memory_.back().data());
                fill(layout, count, value_scale, page + offset, seed++);
                pages_[sequence].push_back(page);
            }
        }
        for (const auto& pages : pages_) blocks_.push_back(pages.data());
        q_ = random_floats(rows() * shape.heads * shape.head_dim, 0, query_scale);
        arguments_ = {.q = q_.data(),
                      .y = nullptr,
                      .blocks = blocks_.data(),
                      .row_sequence = row_sequence_.data(),
                      .row_visible = row_visible_.data(),
                      .rows = rows(),
                      .heads = shape.heads,
                      .block_offset = offset,
                      .layout = layout,
                      .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim))};
    }

    std::size_t rows() const { return row_visible_.size(); }
    std::vector<float>& q() { return q_; }
    // All values of all pages, seen or not.
    void set_values(float value) {
        const tensor::KvLayout& layout = arguments_.layout;
        for (auto& page : memory_) {
            auto* halves = reinterpret_cast<std::uint16_t*>(page.data());
            const std::size_t first = (arguments_.block_offset + layout.value_offset(0)) / 2;
            std::fill_n(halves + first, layout.kv_heads * layout.head_value_bytes() / 2,
                        tensor::bf16_from_float(value));
        }
    }
    // The arguments with this output, [rows, heads * head_dim].
    Arguments into(float* y) const {
        Arguments arguments = arguments_;
        arguments.y = y;
        return arguments;
    }

private:
    static void fill(const tensor::KvLayout& layout, std::size_t count, float value_scale, std::byte* block,
                     std::uint32_t seed) {
        const std::size_t padded = layout.padded_head_dim();
        const std::vector<float> numbers = random_floats(layout.kv_heads * layout.head_dim * count * 2, seed);
        auto number = numbers.begin();
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            auto* keys = reinterpret_cast<std::uint16_t*>(block + layout.key_offset(head));
            auto* values = reinterpret_cast<std::uint16_t*>(block + layout.value_offset(head));
            for (std::size_t d = 0; d < layout.head_dim; ++d) {
                for (std::size_t j = 0; j < count; ++j) {
                    keys[(d / 2 * tensor::kBlockPositions + j) * 2 + d % 2] = tensor::bf16_from_float(*number++);
                    values[(j / 2 * padded + d) * 2 + j % 2] = tensor::bf16_from_float(*number++ * value_scale);
                }
            }
        }
    }

    std::vector<std::vector<float>> memory_;
    std::vector<std::vector<const std::byte*>> pages_;
    std::vector<const std::byte* const*> blocks_;
    std::vector<std::uint32_t> row_sequence_, row_visible_;
    std::vector<float> q_;
    Arguments arguments_;
};

std::vector<float> expected(const Problem& problem) {
    const Arguments arguments = problem.into(nullptr);
    std::vector<float> y(problem.rows() * arguments.heads * arguments.layout.head_dim, kNaN);
    reference(problem.into(y.data()), 0, problem.rows(), 0, arguments.layout.kv_heads);
    return y;
}

// Every form, taken whole, row by row, and in odd parts of rows and key/value heads.
void check(const Problem& problem, const std::string& name) {
    const std::vector<float> want = expected(problem);
    const std::size_t rows = problem.rows(), kv_heads = problem.into(nullptr).layout.kv_heads;
    for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::attention_bf16)) {
        SCOPED_TRACE(name + ", " + testing::name_of(form.set));
        GuardedFloats whole(want.size()), single(want.size()), odd(want.size());
        form.run(problem.into(whole.data()), 0, rows, 0, kv_heads);
        for (std::size_t row = 0; row < rows; ++row) {
            form.run(problem.into(single.data()), row, row + 1, 0, kv_heads);
        }
        constexpr std::size_t kParts[] = {3, 1, 11, 2, 5};
        for (std::size_t head = 0; head < kv_heads; ++head) {
            for (std::size_t row = 0, i = head; row < rows; row += kParts[i++ % std::size(kParts)]) {
                const std::size_t end = std::min(row + kParts[i % std::size(kParts)], rows);
                form.run(problem.into(odd.data()), row, end, head, head + 1);
            }
        }
        EXPECT_TRUE(same_bits(whole.data(), want.data(), want.size()));
        EXPECT_TRUE(same_bits(single.data(), want.data(), want.size()));
        EXPECT_TRUE(same_bits(odd.data(), want.data(), want.size()));
        EXPECT_TRUE(whole.guards_intact() && single.guards_intact() && odd.guards_intact());
    }
}

// `rows` rows of a causal prompt, the last of which sees `visible` positions.
std::vector<std::uint32_t> causal(std::uint32_t rows, std::uint32_t visible) {
    std::vector<std::uint32_t> counts(rows);
    std::iota(counts.begin(), counts.end(), visible - rows + 1);
    return counts;
}

TEST(AttentionBf16, DecodeRowsEqualReference) {
    for (const std::uint32_t visible : {1, 63, 64, 65, 127, 128, 129, 304}) {
        for (const Shape& shape : {Shape{2, 2, 24}, Shape{4, 2, 128}, Shape{8, 1, 64}, Shape{2, 1, 72}}) {
            check(Problem(shape, {{visible}}),
                  std::to_string(visible) + " visible, head_dim " + std::to_string(shape.head_dim));
        }
    }
}

TEST(AttentionBf16, PromptRowsEqualReference) {
    check(Problem({2, 2, 64}, {causal(7, 7)}), "7 rows from the start");
    check(Problem({4, 2, 128}, {causal(16, 71)}), "16 rows across a block boundary");
    check(Problem({8, 1, 24}, {causal(64, 64)}), "64 rows, 8 heads to a key/value head");
    check(Problem({2, 1, 72}, {causal(64, 163)}), "64 rows over three blocks");
}

TEST(AttentionBf16, RowsThatSeeAllPositionsEqualReference) {
    check(Problem({2, 2, 72}, {std::vector<std::uint32_t>(16, 129)}), "129 positions");
    check(Problem({1, 1, 72}, {std::vector<std::uint32_t>(7, 1024)}), "1024 positions");
    check(Problem({1, 1, 64}, {std::vector<std::uint32_t>(65, 127)}), "more rows than a tile");
}

TEST(AttentionBf16, SeveralSequencesInOneCall) {
    // A lone decode row, a prompt, rows in no order, rows that see nothing.
    const Batch batch = {{130}, causal(7, 66), {5, 192, 1, 64, 0, 63}, {0}, {1, 1}};
    check(Problem({4, 2, 24}, batch), "head_dim 24");
    check(Problem({8, 1, 72}, batch), "head_dim 72");
    check(Problem({2, 2, 2}, batch), "head_dim 2");
    check(Problem({2, 1, 256}, {{65}, {3, 64}}), "head_dim 256");
}

// Scores far apart, so that most weights underflow and the maximum jumps between blocks.
TEST(AttentionBf16, SteepScoresEqualReference) { check(Problem({4, 2, 24}, {causal(9, 200)}, 100.0f), "steep"); }

// Values about the smallest normal number: their products with weights are flushed to zero.
TEST(AttentionBf16, DenormalProductsEqualReference) {
    check(Problem({4, 2, 24}, {causal(9, 131)}, 1.0f, 0x1p-122f), "tiny values");
    check(Problem({2, 2, 72}, {causal(3, 65)}, 40.0f, 0x1p-120f), "tiny values, steep");
}

TEST(AttentionBf16, AwkwardQueriesEqualReference) {
    Problem problem({2, 1, 24}, {causal(6, 70)});
    const std::vector<float> awkward = testing::awkward_floats(problem.q().size());
    // One awkward element to a query, another one each time.
    for (std::size_t i = 0; i < problem.q().size(); i += 24) problem.q()[i + i / 24 % 24] = awkward[i / 24];
    check(problem, "awkward");
}

TEST(AttentionBf16, ARowThatSeesNothingGivesZeros) {
    const std::vector<float> y = expected(Problem({2, 1, 24}, {{0, 1}}));
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(y[i], 0.0f);
    for (std::size_t i = 48; i < 96; ++i) EXPECT_NE(y[i], 0.0f);
}

// softmax(q K^T * scale) V, as in the paper, in double: within what rounding queries and weights to bf16 costs.
TEST(AttentionBf16, ReferenceIsSoftmaxAttention) {
    const Problem problem({4, 2, 72}, {causal(5, 151)});
    const std::vector<float> y = expected(problem);
    const Arguments arguments = problem.into(nullptr);
    const tensor::KvLayout& layout = arguments.layout;
    for (std::size_t row = 0; row < problem.rows(); ++row) {
        for (std::size_t head = 0; head < arguments.heads; ++head) {
            const std::size_t at = (row * arguments.heads + head) * layout.head_dim, kv_head = head / 2;
            std::vector<double> output(layout.head_dim, 0.0);
            double total = 0;
            for (std::size_t j = 0; j < arguments.row_visible[row]; ++j) {
                const std::byte* block = arguments.blocks[0][j / tensor::kBlockPositions] + arguments.block_offset;
                const std::size_t lane = j % tensor::kBlockPositions;
                const auto* k = reinterpret_cast<const std::uint16_t*>(block + layout.key_offset(kv_head));
                const auto* v = reinterpret_cast<const std::uint16_t*>(block + layout.value_offset(kv_head));
                double score = 0;
                for (std::size_t d = 0; d < layout.head_dim; ++d) {
                    score += static_cast<double>(arguments.q[at + d]) *
                             tensor::float_from_bf16(k[(d / 2 * tensor::kBlockPositions + lane) * 2 + d % 2]);
                }
                const double weight = std::exp(score / std::sqrt(static_cast<double>(layout.head_dim)));
                total += weight;
                for (std::size_t d = 0; d < layout.head_dim; ++d) {
                    output[d] +=
                        weight * tensor::float_from_bf16(v[(lane / 2 * layout.padded_head_dim() + d) * 2 + lane % 2]);
                }
            }
            for (std::size_t d = 0; d < layout.head_dim; ++d) {
                EXPECT_NEAR(y[at + d], output[d] / total, 3e-3) << "row " << row << ", head " << head << ", " << d;
            }
        }
    }
}

// All values equal: a weighted mean of them is that value, however the weights were rounded.
TEST(AttentionBf16, EqualValuesComeOutUnchanged) {
    Problem problem({2, 1, 24}, {causal(3, 131)});
    problem.set_values(1.5f);
    for (const float y : expected(problem)) EXPECT_NEAR(y, 1.5f, 1e-6f);
}

}  // namespace
}  // namespace inkstone::ops::attention_bf16
