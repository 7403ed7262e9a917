// Attention in BF16 arithmetic, its meaning: every other form must equal these loops bit for bit.
#include <algorithm>
#include <array>
#include <limits>

#include "base/elementary.h"
#include "base/flushed_fma.h"
#include "base/reduce.h"
#include "ops/attention_bf16/attention_bf16.h"
#include "tensor/half.h"

namespace inkstone::ops::attention_bf16 {
namespace {

constexpr double kLog2E = 1.4426950408889634;

float round_to_bf16(float x) { return tensor::float_from_bf16(tensor::bf16_from_float(x)); }
float flushed_product(float a, float b) { return flushed_fma(a, b, -0.0f); }  // -0: keeps the sign of a zero
// Half `which` (0 or 1) of word `index`.
float element(const std::uint16_t* words, std::size_t index, std::size_t which) {
    return tensor::float_from_bf16(words[2 * index + which]);
}

// One row and query head: q, y [head_dim]; pages[b] + offset of the kv head's keys and values.
void attend(const float* q, float* y, const std::byte* const* pages, std::size_t keys_offset, std::size_t values_offset,
            std::size_t visible, const tensor::KvLayout& layout, float log2_scale) {
    const std::size_t head_dim = layout.head_dim, padded = layout.padded_head_dim();
    std::array<float, kMaximumHeadDim> scaled{}, output{};
    float sum[kReductionLanes] = {};
    for (std::size_t d = 0; d < head_dim; ++d) scaled[d] = round_to_bf16(flushed_product(q[d], log2_scale));

    float maximum = -std::numeric_limits<float>::infinity();
    for (std::size_t first = 0; first < visible; first += tensor::kBlockPositions) {
        const std::byte* page = pages[first / tensor::kBlockPositions];
        const auto* k = reinterpret_cast<const std::uint16_t*>(page + keys_offset);    // [head_dim / 2][64][2]
        const auto* v = reinterpret_cast<const std::uint16_t*>(page + values_offset);  // [32][padded][2]
        const std::size_t count = std::min(visible - first, tensor::kBlockPositions);

        std::array<float, tensor::kBlockPositions> weight{};  // scores first, then their exponentials
        float new_maximum = -std::numeric_limits<float>::infinity();
        for (std::size_t j = 0; j < count; ++j) {
            for (std::size_t i = 0; i < head_dim / 2; ++i) {
                const std::size_t word = i * tensor::kBlockPositions + j;
                weight[j] = flushed_fma(element(k, word, 1), scaled[2 * i + 1], weight[j]);
                weight[j] = flushed_fma(element(k, word, 0), scaled[2 * i], weight[j]);
            }
            new_maximum = std::max(new_maximum, weight[j]);
        }
        if (new_maximum > maximum + kSlack) {
            const float correction = exp2(std::max(-126.0f, maximum - new_maximum));
            for (std::size_t d = 0; d < head_dim; ++d) output[d] = flushed_product(output[d], correction);
            for (float& lane : sum) lane = flushed_product(lane, correction);
            maximum = new_maximum;
        }
        for (std::size_t j = 0; j < count; ++j) weight[j] = round_to_bf16(exp2_short(weight[j] - maximum));
        // Beyond `count` weights are 0, and so are the values that meet them.
        for (std::size_t i = 0; 2 * i < count; ++i) {
            const bool is_lone = 2 * i + 1 == count;
            float& lane = sum[i % kReductionLanes];
            lane = flushed_fma(weight[2 * i + 1], 1.0f, lane);
            lane = flushed_fma(weight[2 * i], 1.0f, lane);
            for (std::size_t d = 0; d < head_dim; ++d) {
                const std::size_t word = i * padded + d;
                output[d] = flushed_fma(weight[2 * i + 1], is_lone ? 0.0f : element(v, word, 1), output[d]);
                output[d] = flushed_fma(weight[2 * i], element(v, word, 0), output[d]);
            }
        }
    }

    const float factor = flush_denormal(1.0f / fold(sum));
    for (std::size_t d = 0; d < head_dim; ++d) y[d] = visible == 0 ? 0.0f : flushed_product(output[d], factor);
}

}  // namespace

void reference(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
               std::size_t end_kv_head) {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t heads_per_kv_head = arguments.heads / layout.kv_heads;
    const auto log2_scale = static_cast<float>(static_cast<double>(arguments.scale) * kLog2E);
    for (std::size_t row = first_row; row < end_row; ++row) {
        for (std::size_t head = first_kv_head * heads_per_kv_head; head < end_kv_head * heads_per_kv_head; ++head) {
            const std::size_t kv_head = head / heads_per_kv_head;
            const std::size_t at = (row * arguments.heads + head) * layout.head_dim;
            attend(arguments.q + at, arguments.y + at, arguments.blocks[arguments.row_sequence[row]],
                   arguments.block_offset + layout.key_offset(kv_head),
                   arguments.block_offset + layout.value_offset(kv_head), arguments.row_visible[row], layout,
                   log2_scale);
        }
    }
}

}  // namespace inkstone::ops::attention_bf16
