// Kernels of linear in integer arithmetic, compiled once per instruction set; the backend picks one at run time.
// One row streams each tile once, all 64 outputs in registers: as fast as memory gives weights. More rows go through a
// register tile of kRows rows, so that a weight in a register serves all of them, and while they pass, the next tile is
// prefetched.
#include "base/simd/dot_bytes.h"
#include "base/simd/lanes.h"
#include "ops/linear_int8/linear_int8.h"

namespace inkstone::ops::linear_int8::INKSTONE_ISA {

using namespace inkstone::INKSTONE_ISA;

namespace {

constexpr std::size_t kTileLanes = tensor::kTileOutputs / Lanes::kCount;
constexpr std::size_t kWordBytes = tensor::kTileOutputs * 4;  // of one word of every output of a tile
constexpr std::size_t kPrefetchDistance = 2048;               // bytes ahead of a single row's stream
constexpr std::size_t kCachedBytes = 256 * 1024;              // of inputs that stay in the second-level cache

// Register tiles: rows, and groups of 16 outputs. With groups of inputs an output has an integer and a float sum;
// Single is for matrices that are one group, where there are only integers until the end.
template <std::size_t kTileRows, std::size_t kTileGroups>
struct Cut {
    static constexpr std::size_t kRows = kTileRows, kGroups = kTileGroups;
};
#if defined(INKSTONE_ISA_avx512_vnni)
// Up to kStreamedRows rows pass a tile once, kStreamedGroups groups of 16 outputs at a time.
constexpr std::size_t kStreamedRows = 3, kStreamedGroups = 4;
using Grouped = Cut<6, 2>;
using Single = Cut<6, 4>;
#elif defined(INKSTONE_ISA_avx512)
constexpr std::size_t kStreamedRows = 1, kStreamedGroups = 4;
using Grouped = Cut<5, 2>;
using Single = Cut<5, 4>;
#else
constexpr std::size_t kStreamedRows = 1, kStreamedGroups = 2;  // no more fit 16 registers
using Grouped = Cut<3, 1>;
using Single = Cut<3, 1>;
#endif

// Memory that a later pass will read, brought closer by this one: two lines with each word, the second `second` bytes
// after the first, `step` bytes further with each word and `group_step` with each group, for the scales.
struct Prefetch {
    const std::byte* begin;
    std::size_t second, step, group_step;
};

// Sixteen floats, or the first count of them.
template <bool kWhole>
INKSTONE_INLINE Lanes load_outputs(const float* p, std::size_t count) {
    return kWhole ? Lanes::load(p) : Lanes::load_first(p, count);
}

INKSTONE_INLINE float float_at(const std::byte* p) {
    float value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
}

// kRows rows from first_row on times kGroups groups of 16 outputs of tile t from first_group on, sums in registers.
// kWhole says that all these outputs are there; otherwise the last ones are masked.
template <bool kNibbles, bool kSingle, std::size_t kRows, std::size_t kGroups, bool kWhole>
[[gnu::noinline]] void multiply_block(const Arguments& arguments, std::size_t t, std::size_t first_row,
                                      std::size_t first_group, Prefetch prefetch) {
    constexpr std::size_t kWordInputs = kNibbles ? 8 : 4;
    // The stream of few rows goes to the first-level cache; a tile that comes later is too large for it.
    constexpr int kNear = kRows <= kStreamedRows ? 3 : 2;
    const tensor::PackedMatrix& weight = arguments.weight;
    const std::size_t x_stride = arguments.x_stride, y_stride = arguments.y_stride;
    const std::size_t first_output = t * tensor::kTileOutputs + first_group * Lanes::kCount;
    std::size_t outputs[kGroups];
#pragma GCC unroll 4
    for (std::size_t g = 0; g < kGroups; ++g) {
        const std::size_t first = first_output + g * Lanes::kCount;
        const std::size_t left = first < weight.outputs ? weight.outputs - first : 0;
        outputs[g] = kWhole || left > Lanes::kCount ? Lanes::kCount : left;
    }
    float* y = arguments.y + first_row * y_stride + first_output;

    Lanes sums[kRows][kGroups];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            sums[r][g] = Lanes::zero();
            // Where the sums will go: the stores at the end would wait for memory.
            if (kRows > 1) __builtin_prefetch(y + r * y_stride + g * Lanes::kCount, 1, 3);
        }

    const std::size_t groups = kSingle ? 1 : weight.quantisation.groups(weight.inputs);
    const std::size_t scale_bytes = weight.scale_bytes();
    const bool half_scales = weight.quantisation.scale == tensor::ScaleType::f16;
    std::size_t left = weight.packed_inputs() / kWordInputs;  // words of later groups and this
    const std::size_t group_words = kSingle ? left : weight.quantisation.group / kWordInputs;

    // One pointer for every three rows: the others are reached by adding the stride once or twice.
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const std::byte* x[kPointers];
    x[0] = arguments.x + first_row * x_stride;
#pragma GCC unroll 4
    for (std::size_t i = 1; i < kPointers; ++i) x[i] = x[i - 1] + 3 * x_stride;
    const tensor::QuantisedRow row{weight.inputs, weight.quantisation.group};
    const std::byte* scales = x[0] + row.scales_at();
    const std::size_t to_offsets = row.offsets_at() - row.scales_at();

    const std::byte* weights = weight.tile(t);
    for (std::size_t group = 0; group < groups; ++group) {
        const std::byte* group_scales = weights;
        __builtin_prefetch(prefetch.begin, 0, kNear);
        prefetch.begin += prefetch.group_step;
        weights += scale_bytes + first_group * 64;
        Sums totals[kRows][kGroups];
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g)
                totals[r][g] = kSingle ? begin(word_at(scales + to_offsets + r * x_stride))
                                       : begin_small(word_at(scales + to_offsets + r * x_stride));

        const std::size_t words = left < group_words ? left : group_words;
        left -= words;
        for (std::size_t word = 0; word < words; ++word) {
            __builtin_prefetch(prefetch.begin, 0, kNear);
            __builtin_prefetch(prefetch.begin + prefetch.second, 0, kNear);
            prefetch.begin += prefetch.step;
            Raw raw[kGroups];
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) raw[g] = load_raw(weights + g * 64);
            weights += kWordBytes;
#pragma GCC unroll 2
            for (std::size_t half = 0; half < kWordInputs / 4; ++half) {
                Weights ready[kGroups];
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g)
                    ready[g] = weights_of(!kNibbles ? raw[g] : half == 0 ? low_nibbles(raw[g]) : high_nibbles(raw[g]));
#pragma GCC unroll 8
                for (std::size_t r = 0; r < kRows; ++r) {
                    const Inputs inputs = inputs_at(x[r / 3] + half * 4 + r % 3 * x_stride);
#pragma GCC unroll 4
                    for (std::size_t g = 0; g < kGroups; ++g) accumulate(totals[r][g], ready[g], inputs);
                }
            }
#pragma GCC unroll 4
            for (std::size_t i = 0; i < kPointers; ++i) x[i] += kWordInputs;
        }
        weights -= first_group * 64;

#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            const std::size_t lane = (first_group + g) * Lanes::kCount;
            Lanes scale = half_scales ? widen_half(group_scales + lane * 2)
                                      : Lanes::load(reinterpret_cast<const float*>(group_scales + lane * 4));
            if (kNibbles) scale = scale * Lanes::of(0.0625f);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < kRows; ++r)
                sums[r][g] = fma(kSingle ? lanes_of(totals[r][g]) : lanes_of_small(totals[r][g]),
                                 scale * Lanes::of(float_at(scales + r * x_stride)), sums[r][g]);
        }
        scales += sizeof(float);
    }

    if (arguments.bias)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            const Lanes bias = load_outputs<kWhole>(arguments.bias + first_output + g * Lanes::kCount, outputs[g]);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < kRows; ++r) sums[r][g] = sums[r][g] + bias;
        }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            float* to = y + r * y_stride + g * Lanes::kCount;
            if (kWhole)
                sums[r][g].store(to);
            else
                sums[r][g].store_first(to, outputs[g]);
        }
}

// `rows` rows, 1 .. kMaximumRows: the instance of multiply_block for that number.
template <bool kNibbles, bool kSingle, std::size_t kGroups, std::size_t kMaximumRows>
INKSTONE_INLINE void multiply_rows(const Arguments& arguments, std::size_t t, std::size_t first_row, std::size_t rows,
                                   std::size_t first_group, Prefetch prefetch) {
    if constexpr (kMaximumRows > 1)
        if (rows < kMaximumRows) {
            multiply_rows<kNibbles, kSingle, kGroups, kMaximumRows - 1>(arguments, t, first_row, rows, first_group,
                                                                        prefetch);
            return;
        }
    const std::size_t end = t * tensor::kTileOutputs + (first_group + kGroups) * Lanes::kCount;
    if (end <= arguments.weight.outputs)
        multiply_block<kNibbles, kSingle, kMaximumRows, kGroups, true>(arguments, t, first_row, first_group, prefetch);
    else
        multiply_block<kNibbles, kSingle, kMaximumRows, kGroups, false>(arguments, t, first_row, first_group, prefetch);
}

// Tile t for the rows [first_row, end_row); tile next_tile follows.
template <bool kNibbles, bool kSingle, class Cut>
[[gnu::noinline]] void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t next_tile,
                                     std::size_t first_row, std::size_t end_row) {
    const std::size_t rows = end_row - first_row;
    if (rows <= kStreamedRows) {
        for (std::size_t group = 0; group < kTileLanes; group += kStreamedGroups)
            multiply_rows<kNibbles, kSingle, kStreamedGroups, kStreamedRows>(
                arguments, t, first_row, rows, group,
                {arguments.weight.tile(t) + kPrefetchDistance, 128, kWordBytes, arguments.weight.scale_bytes()});
        return;
    }
    // The passes over this tile prefetch the next: its lines, of which there are kTileLanes for each word, are shared
    // among the passes as evenly as whole lines allow, and the scales likewise.
    const std::size_t line_bytes = arguments.weight.tile_bytes() / kTileLanes;
    const std::size_t blocks = (rows + Cut::kRows - 1) / Cut::kRows;
    const std::byte* next = arguments.weight.tile(next_tile);
    std::size_t passes = kTileLanes / Cut::kGroups * blocks, lines = kTileLanes;
    for (std::size_t group = 0; group < kTileLanes; group += Cut::kGroups) {
        std::size_t row = first_row;
        for (std::size_t block = 0; block < blocks; ++block, --passes) {
            // Register blocks of nearly equal height.
            const std::size_t height = (end_row - row + blocks - block - 1) / (blocks - block);
            const std::size_t own = (lines + passes - 1) / passes < 2 ? (lines + passes - 1) / passes : 2;
            const Prefetch prefetch{next, own == 2 ? 64u : 0u, own * 64,
                                    own * arguments.weight.scale_bytes() / kTileLanes};
            next += own * line_bytes;
            lines -= own;
            multiply_rows<kNibbles, kSingle, Cut::kGroups, Cut::kRows>(arguments, t, row, height, group, prefetch);
            row += height;
        }
    }
}

template <bool kNibbles, bool kSingle, class Cut>
void multiply(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
              std::size_t end_tile) {
    const std::size_t cached_rows = (kCachedBytes / (arguments.x_stride + 1) / Cut::kRows + 1) * Cut::kRows;
    for (std::size_t row = first_row; row < end_row;) {
        // Chunks of nearly equal size, of whole register blocks, whose inputs stay near while all tiles pass.
        const std::size_t left = end_row - row, chunks = (left + cached_rows - 1) / cached_rows;
        const std::size_t blocks = (left + chunks * Cut::kRows - 1) / (chunks * Cut::kRows);
        const std::size_t rows = blocks * Cut::kRows < left ? blocks * Cut::kRows : left;
        for (std::size_t t = first_tile; t < end_tile; ++t) {
            // The last tile is followed by the first when more rows are to come, by the next call's perhaps otherwise.
            const std::size_t next = t + 1 == end_tile && rows < left ? first_tile : t + 1;
            multiply_tile<kNibbles, kSingle, Cut>(arguments, t, next, row, row + rows);
        }
        row += rows;
    }
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
    const bool single = arguments.weight.quantisation.group == 0;
    if (arguments.weight.format == tensor::WeightFormat::q4)
        (single ? multiply<true, true, Single> : multiply<true, false, Grouped>)(arguments, first_row, end_row,
                                                                                 first_tile, end_tile);
    else
        (single ? multiply<false, true, Single> : multiply<false, false, Grouped>)(arguments, first_row, end_row,
                                                                                   first_tile, end_tile);
}

}  // namespace inkstone::ops::linear_int8::INKSTONE_ISA
