// Attention, its meaning: every other form must equal these loops bit for bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "base/reduce.h"
#include "ops/attention/attention.h"

namespace inkstone::ops::attention {
namespace {

constexpr double kLog2E = 1.4426950408889634;

// One row and query head: q, y [head_dim]; pages[b] + offset of the kv head's keys and values.
void attend(const float* q, float* y, const std::byte* const* pages, std::size_t keys_offset, std::size_t values_offset,
            std::size_t visible, const tensor::KvLayout& layout, float log2_scale) {
    const std::size_t head_dim = layout.head_dim, padded = layout.padded_head_dim();
    std::array<float, kMaximumHeadDim> scaled{}, output{};
    float sum[kReductionLanes] = {};
    for (std::size_t d = 0; d < head_dim; ++d) scaled[d] = q[d] * log2_scale;

    float maximum = -std::numeric_limits<float>::infinity();
    for (std::size_t first = 0; first < visible; first += tensor::kBlockPositions) {
        const std::byte* page = pages[first / tensor::kBlockPositions];
        const auto* k = reinterpret_cast<const float*>(page + keys_offset);    // [head_dim][64]
        const auto* v = reinterpret_cast<const float*>(page + values_offset);  // [64][padded]
        const std::size_t count = std::min(visible - first, tensor::kBlockPositions);

        std::array<float, tensor::kBlockPositions> weight{};  // scores first, then their exponentials
        float new_maximum = -std::numeric_limits<float>::infinity();
        for (std::size_t j = 0; j < count; ++j) {
            for (std::size_t d = 0; d < head_dim; ++d) {
                weight[j] = std::fma(k[d * tensor::kBlockPositions + j], scaled[d], weight[j]);
            }
            new_maximum = std::max(new_maximum, weight[j]);
        }
        if (new_maximum > maximum + kSlack) {
            const float correction = exp2(maximum - new_maximum);
            for (std::size_t d = 0; d < head_dim; ++d) output[d] = output[d] * correction;
            for (float& lane : sum) lane = lane * correction;
            maximum = new_maximum;
        }
        for (std::size_t j = 0; j < count; ++j) {
            weight[j] = exp2(weight[j] - maximum);
            sum[j % kReductionLanes] = sum[j % kReductionLanes] + weight[j];
        }
        for (std::size_t j = 0; j < count; ++j) {
            for (std::size_t d = 0; d < head_dim; ++d) {
                output[d] = std::fma(weight[j], v[j * padded + d], output[d]);
            }
        }
    }

    const float total = fold(sum);
    for (std::size_t d = 0; d < head_dim; ++d) y[d] = visible == 0 ? 0.0f : output[d] / total;
}

}  // namespace

void reference(const Arguments& arguments) {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t head_dim = layout.head_dim, heads_per_kv_head = arguments.heads / layout.kv_heads;
    const auto log2_scale = static_cast<float>(static_cast<double>(arguments.scale) * kLog2E);
    for (std::size_t row = 0; row < arguments.rows; ++row) {
        for (std::size_t head = 0; head < arguments.heads; ++head) {
            const std::size_t kv_head = head / heads_per_kv_head;
            const std::size_t at = (row * arguments.heads + head) * head_dim;
            const std::size_t keys = arguments.block_offset + layout.key_offset(kv_head);
            const std::size_t values = arguments.block_offset + layout.value_offset(kv_head);
            attend(arguments.q + at, arguments.y + at, arguments.blocks[arguments.row_sequence[row]], keys, values,
                   arguments.row_visible[row], layout, log2_scale);
        }
    }
}

}  // namespace inkstone::ops::attention
