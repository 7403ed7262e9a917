// The reading loops: four cache lines of each stream in turn, 16 bytes a load, which any x86-64 and ARM CPU does twice
// a cycle: several times what memory gives.
#include "backend/cpu/limits/read_patterns.h"

#include <cstring>

namespace inkstone::backend::cpu {
namespace {

constexpr std::size_t kStep = 256;    // bytes of one stream at a time
constexpr std::size_t kLine = 64;     // bytes
constexpr std::size_t kAhead = 2048;  // bytes from a load to its prefetch

typedef std::uint64_t Pair __attribute__((vector_size(16)));

template <int streams, bool prefetch>
std::uint64_t read(const std::byte* memory, std::size_t bytes) {
    const std::size_t part = bytes / streams;
    Pair any[4] = {};
    for (std::size_t offset = 0; offset < part; offset += kStep) {
#pragma GCC unroll 8
        for (int stream = 0; stream < streams; ++stream) {
            const std::byte* from = memory + static_cast<std::size_t>(stream) * part + offset;
            if constexpr (prefetch) {
#pragma GCC unroll 4
                for (std::size_t line = 0; line < kStep; line += kLine) __builtin_prefetch(from + kAhead + line);
            }
#pragma GCC unroll 16
            for (std::size_t i = 0; i < kStep / sizeof(Pair); ++i) {
                Pair loaded;
                std::memcpy(&loaded, from + i * sizeof(Pair), sizeof loaded);
                any[i % 4] ^= loaded;
            }
        }
    }
    const Pair all = any[0] ^ any[1] ^ any[2] ^ any[3];
    return all[0] ^ all[1];
}

template <bool prefetch>
std::uint64_t read_streams(const std::byte* memory, std::size_t bytes, int streams) {
    switch (streams) {
        case 8:
            return read<8, prefetch>(memory, bytes);
        case 4:
            return read<4, prefetch>(memory, bytes);
        case 2:
            return read<2, prefetch>(memory, bytes);
        default:
            return read<1, prefetch>(memory, bytes);
    }
}

}  // namespace

std::uint64_t read_once(const std::byte* memory, std::size_t bytes, int streams, bool prefetch) {
    return prefetch ? read_streams<true>(memory, bytes, streams) : read_streams<false>(memory, bytes, streams);
}

}  // namespace inkstone::backend::cpu
