// Tables of the instruction sets; the reference set's is in backend/reference.
#include "backend/cpu/kernel_table.h"

#include "backend/reference/reference_table.h"

namespace inkstone::backend::cpu {
namespace {

// Operators in BF16 arithmetic take their forms from bf16_set, those in integer arithmetic from int8_set, all others
// from set.
#define INKSTONE_TABLE(set, bf16_set, int8_set)                                                                      \
    {                                                                                                                \
        ops::add::set::run, ops::attention::set::run, ops::attention_bf16::bf16_set::run, ops::gelu::set::run,       \
            ops::layer_norm::set::run, ops::linear::set::run, ops::linear_bf16::bf16_set::run,                       \
            ops::linear_int8::int8_set::run, ops::multiply::set::run, ops::quantise_rows::set::run,                  \
            ops::rms_norm::set::run, ops::rotate_half::set::run, ops::round_bf16::bf16_set::run, ops::silu::set::run \
    }

constexpr KernelTable kPortable = INKSTONE_TABLE(portable, portable, portable);
#if defined(__x86_64__)
constexpr KernelTable kAvx2 = INKSTONE_TABLE(avx2, avx2, avx2);
constexpr KernelTable kAvx512 = INKSTONE_TABLE(avx512, avx512, avx512);
constexpr KernelTable kAvx512Vnni = INKSTONE_TABLE(avx512, avx512, avx512_vnni);
constexpr KernelTable kAvx512Bf16 = INKSTONE_TABLE(avx512, avx512_bf16, avx512_vnni);
#endif
#undef INKSTONE_TABLE

}  // namespace

const KernelTable& kernel_table(InstructionSet set) {
    switch (set) {
        case InstructionSet::reference:
            return reference::kernel_table();
#if defined(__x86_64__)
        case InstructionSet::avx2:
            return kAvx2;
        case InstructionSet::avx512:
            return kAvx512;
        case InstructionSet::avx512_vnni:
            return kAvx512Vnni;
        case InstructionSet::avx512_bf16:
            return kAvx512Bf16;
#endif
        default:
            return kPortable;
    }
}

}  // namespace inkstone::backend::cpu
