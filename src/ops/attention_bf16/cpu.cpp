// Attention in BF16 arithmetic, in lanes: written once, compiled for every instruction set. The walk through the blocks
// is that of base/simd/attention_tile.h; here are the products of pairs.
#include <cstddef>
#include <cstdint>

#include "base/elementary.h"
#include "base/simd/attention_tile.h"
#include "base/simd/flush_denormals.h"
#include "base/simd/lanes.h"
#include "ops/attention_bf16/attention_bf16.h"

namespace inkstone::ops::attention_bf16::INKSTONE_ISA {

#if INKSTONE_FLUSHES_DENORMALS
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::Mask;

constexpr std::size_t kLaneBytes = Lanes::kCount * 4;  // pairs for 16 lanes

// Two neighbouring numbers of bfloat16, of a query or of the weights, as a product with words of a block takes them.
#if defined(INKSTONE_ISA_avx512_bf16)
struct Pair {
    std::uint32_t word;
};
#else
struct Pair {
    float first, second;
};
#endif

struct PairArithmetic {
    using Element = Pair;
    static constexpr std::size_t kStep = 2, kPositions = tensor::kBlockPositions, kHeadDim = kMaximumHeadDim;
    static constexpr float kSlack = attention_bf16::kSlack;
    static constexpr bool kHalves = false;

    // sum[l][c] = dot(words of column c, pairs[l * stride], sum[l][c]), the second of each pair first.
    template <class, std::size_t kLines, std::size_t kColumns>
    INKSTONE_INLINE static void multiply(const std::byte* words, const Pair* pairs, std::size_t stride,
                                         Lanes (&sum)[kLines][kColumns]) {
#if defined(INKSTONE_ISA_avx512_bf16)
        __m512i column[kColumns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) column[c] = _mm512_loadu_si512(words + c * kLaneBytes);
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const __m512i x = _mm512_set1_epi32(static_cast<int>(pairs[l * stride].word));
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) {
                sum[l][c].v =
                    _mm512_dpbf16_ps(sum[l][c].v, reinterpret_cast<__m512bh>(column[c]), reinterpret_cast<__m512bh>(x));
            }
        }
#else
        Lanes column[kColumns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c)
            column[c] = inkstone::INKSTONE_ISA::widen_high(words + c * kLaneBytes);
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Lanes x = Lanes::of(pairs[l * stride].second);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(column[c], x, sum[l][c]);
        }
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c)
            column[c] = inkstone::INKSTONE_ISA::widen_low(words + c * kLaneBytes);
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Lanes x = Lanes::of(pairs[l * stride].first);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(column[c], x, sum[l][c]);
        }
#endif
    }

    // The same for pair `i` of the positions of a block, of which line l sees the first count[l]: a line that does not
    // see the pair keeps its sums, and one that sees only its first position takes 0 for what stands in the second.
    template <class, std::size_t kLines, std::size_t kColumns>
    INKSTONE_INLINE static void multiply_edge(const std::byte* words, const Pair* pairs, std::size_t stride,
                                              std::size_t i, const std::uint32_t* count,
                                              Lanes (&sum)[kLines][kColumns]) {
#if defined(INKSTONE_ISA_avx512_bf16)
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const auto sees_first = static_cast<__mmask16>(2 * i < count[l] ? 0xffff : 0);
            const __m512i kept = _mm512_set1_epi32(2 * i + 1 < count[l] ? -1 : 0xffff);
            const __m512i x = _mm512_set1_epi32(static_cast<int>(pairs[l * stride].word));
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) {
                const __m512i column = _mm512_and_si512(_mm512_loadu_si512(words + c * kLaneBytes), kept);
                sum[l][c].v = _mm512_mask_dpbf16_ps(sum[l][c].v, sees_first, reinterpret_cast<__m512bh>(column),
                                                    reinterpret_cast<__m512bh>(x));
            }
        }
#else
        const Lanes first_position = Lanes::of(static_cast<float>(2 * i));
        const Lanes second_position = Lanes::of(static_cast<float>(2 * i + 1));
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Lanes end = Lanes::of(static_cast<float>(count[l]));
            const Mask sees_first = less(first_position, end), sees_second = less(second_position, end);
            const Pair pair = pairs[l * stride];
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) {
                const Lanes high = inkstone::INKSTONE_ISA::widen_high(words + c * kLaneBytes);
                const Lanes low = inkstone::INKSTONE_ISA::widen_low(words + c * kLaneBytes);
                const Lanes seen = select(sees_second, high, Lanes::zero());
                const Lanes next = fma(low, Lanes::of(pair.first), fma(seen, Lanes::of(pair.second), sum[l][c]));
                sum[l][c] = select(sees_first, next, sum[l][c]);
            }
        }
#endif
    }

    INKSTONE_INLINE static Lanes exponential(Lanes x) { return exp2_short(x); }
    INKSTONE_INLINE static Lanes correction(Lanes x) { return exp2(max(Lanes::of(-126.0f), x)); }
    INKSTONE_INLINE static Lanes quotient(Lanes output, Lanes total) { return output * (Lanes::of(1.0f) / total); }

    // Rounds a line's 64 weights, stores them as pairs, and adds them to its 16 sums.
    template <std::size_t kCount>
    INKSTONE_INLINE static void store_weights(const Lanes (&weight)[kCount], float* pairs, float* sum_at) {
#if defined(INKSTONE_ISA_avx512_bf16)
        const __m512i ones = _mm512_set1_epi32(0x3f803f80);
        __m512 sum = _mm512_loadu_ps(sum_at);
#pragma GCC unroll 2
        for (std::size_t c = 0; c < kCount; c += 2) {
            const __m512bh words = _mm512_cvtne2ps_pbh(weight[c + 1].v, weight[c].v);
            _mm512_storeu_si512(pairs + c / 2 * Lanes::kCount, reinterpret_cast<__m512i>(words));
            sum = _mm512_dpbf16_ps(sum, words, reinterpret_cast<__m512bh>(ones));
        }
        _mm512_storeu_ps(sum_at, sum);
#else
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kCount; ++c) round_to_bf16(weight[c]).store(pairs + c * Lanes::kCount);
        for (std::size_t first = 0; first < kPositions; first += 2 * Lanes::kCount) {
            for (std::size_t i = 0; i < Lanes::kCount; ++i) {
                sum_at[i] = (sum_at[i] + pairs[first + 2 * i + 1]) + pairs[first + 2 * i];
            }
        }
#endif
    }

    // Scales and rounds a query into pairs, with zeros up to whole lanes.
    INKSTONE_INLINE static void load_query(const float* q, std::size_t head_dim, float log2_scale, Pair* pairs) {
        for (std::size_t first = 0; first < head_dim; first += Lanes::kCount, pairs += Lanes::kCount / 2) {
            const Lanes chunk =
                Lanes::load_first(q + first, head_dim - first < Lanes::kCount ? head_dim - first : Lanes::kCount);
            const Lanes scaled = chunk * Lanes::of(log2_scale);
#if defined(INKSTONE_ISA_avx512_bf16)
            const __m256i words = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(scaled.v));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(pairs), words);
#else
            round_to_bf16(scaled).store(&pairs->first);
#endif
        }
    }
};

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    const inkstone::INKSTONE_ISA::FlushDenormals flush;
    inkstone::INKSTONE_ISA::AttentionTile<PairArithmetic>::run(arguments, first_row, end_row, first_kv_head,
                                                               end_kv_head);
}
#else
// No such mode here: as the reference does it.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    reference(arguments, first_row, end_row, first_kv_head, end_kv_head);
}
#endif

}  // namespace inkstone::ops::attention_bf16::INKSTONE_ISA
