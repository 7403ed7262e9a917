// KvStore on the CPU. Values are copied; keys are transposed, because a block keeps positions in lanes. Rows that
// stand side by side in a block are transposed in tiles of 16 positions by 16 dimensions, so that every cache line of
// both sides is touched once; a lone row (decode) writes one float into each line of its heads.
#include "ops/kv_store/kv_store.h"
#include "ops/kv_store/store_run_bf16.h"

#include <cstring>

namespace inkstone::ops::kv_store {
namespace {

constexpr std::size_t kTile = 16;

using Vector4 = float __attribute__((vector_size(16)));
using Index4 = int __attribute__((vector_size(16)));

Vector4 load(const float* from) {
    Vector4 value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

void store(float* to, Vector4 value) { std::memcpy(to, &value, sizeof value); }

// to[i * to_stride + j] = from[j * from_stride + i] for i, j < 4.
void transpose_4x4(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
    const Vector4 a = load(from), b = load(from + from_stride);
    const Vector4 c = load(from + 2 * from_stride), d = load(from + 3 * from_stride);
    const Vector4 ab_low = __builtin_shuffle(a, b, Index4{0, 4, 1, 5});
    const Vector4 ab_high = __builtin_shuffle(a, b, Index4{2, 6, 3, 7});
    const Vector4 cd_low = __builtin_shuffle(c, d, Index4{0, 4, 1, 5});
    const Vector4 cd_high = __builtin_shuffle(c, d, Index4{2, 6, 3, 7});
    store(to, __builtin_shuffle(ab_low, cd_low, Index4{0, 1, 4, 5}));
    store(to + to_stride, __builtin_shuffle(ab_low, cd_low, Index4{2, 3, 6, 7}));
    store(to + 2 * to_stride, __builtin_shuffle(ab_high, cd_high, Index4{0, 1, 4, 5}));
    store(to + 3 * to_stride, __builtin_shuffle(ab_high, cd_high, Index4{2, 3, 6, 7}));
}

// Keys of 16 rows (row_stride floats apart) into 16 neighbouring positions, for `dimensions` dimensions.
void store_key_tile(const float* rows, std::size_t row_stride, std::size_t dimensions, float* keys) {
    alignas(64) float tile[kTile][kTile];
    std::size_t first = 0;
    for (; dimensions - first >= kTile; first += kTile) {
        // Through a copy: rows of 4096 bytes share one set of the first-level cache and would evict each other.
        for (std::size_t j = 0; j < kTile; ++j) std::memcpy(tile[j], rows + j * row_stride + first, sizeof tile[j]);
        for (std::size_t i = 0; i < kTile; i += 4) {
            float* to = keys + (first + i) * tensor::kBlockPositions;
            for (std::size_t j = 0; j < kTile; j += 4)
                transpose_4x4(&tile[j][i], kTile, to + j, tensor::kBlockPositions);
        }
    }
    for (; first < dimensions; ++first) {
        for (std::size_t j = 0; j < kTile; ++j)
            keys[first * tensor::kBlockPositions + j] = rows[j * row_stride + first];
    }
}

// Rows [row, row + count) hold neighbouring positions of one block, from `lane` on. Rows are read from end to end, all
// heads of a few rows before the next rows.
void store_run(const Arguments& arguments, std::size_t row, std::size_t count, std::byte* block, std::size_t lane) {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t head_dim = layout.head_dim, padded = layout.padded_head_dim();
    const std::size_t stride = layout.kv_heads * head_dim;
    const float* k = arguments.k + row * stride;           // [count][kv_heads * head_dim]
    float* keys = reinterpret_cast<float*>(block) + lane;  // [kv_heads * head_dim][64]
    std::size_t done = 0;
    for (; count - done >= kTile; done += kTile) store_key_tile(k + done * stride, stride, stride, keys + done);
    for (; done < count; ++done) {
        for (std::size_t i = 0; i < stride; ++i) keys[i * tensor::kBlockPositions + done] = k[done * stride + i];
    }

    float* values = reinterpret_cast<float*>(block + layout.value_offset(0)) + lane * padded;
    for (std::size_t j = 0; j < count; ++j) {
        const float* v = arguments.v + (row + j) * stride;
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            float* to = values + (head * tensor::kBlockPositions + j) * padded;
            std::memcpy(to, v + head * head_dim, head_dim * sizeof(float));
            std::memset(to + head_dim, 0, (padded - head_dim) * sizeof(float));
        }
    }
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row;) {
        const std::uint32_t sequence = arguments.row_sequence[row], position = arguments.row_position[row];
        const std::size_t lane = position % tensor::kBlockPositions;
        std::size_t count = 1;
        while (row + count < end_row && lane + count < tensor::kBlockPositions &&
               arguments.row_sequence[row + count] == sequence &&
               arguments.row_position[row + count] == position + count) {
            ++count;
        }
        std::byte* block = arguments.blocks[sequence][position / tensor::kBlockPositions] + arguments.block_offset;
        if (arguments.layout.storage == tensor::KvStorage::bf16)
            store_run_bf16(arguments, row, count, block, lane);
        else
            store_run(arguments, row, count, block, lane);
        row += count;
    }
}

}  // namespace inkstone::ops::kv_store
