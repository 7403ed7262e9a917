// Which kernels the CPU can run, found at run time. A switch may force any of them; results are equal bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace inkstone::backend::cpu {

// reference: the operators' plain loops. portable: compiled without any extension. avx2: AVX2, FMA and F16C.
// avx512: also AVX-512 F, BW, DQ and VL. avx512_vnni: also the dot
// products of bytes of AVX-512 VNNI. avx512_bf16: also those of AVX-512 BF16.
enum class InstructionSet : std::uint8_t { reference, portable, avx2, avx512, avx512_vnni, avx512_bf16 };

std::string_view name_of(InstructionSet set);
bool supported(InstructionSet set);
// Those that this CPU can run, slowest first.
std::vector<InstructionSet> supported_sets();
// The fastest that this CPU can run.
InstructionSet best_set();

}  // namespace inkstone::backend::cpu
