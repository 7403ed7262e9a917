// Tables of the instruction sets; the reference set's is in backend/reference.
#include "backend/cpu/kernel_table.h"

#include "backend/reference/reference_table.h"

namespace inkstone::backend::cpu {
namespace {

#define INKSTONE_TABLE(set)                                                                                      \
    {                                                                                                            \
        ops::add::set::run, ops::attention::set::run, ops::gelu::set::run, ops::layer_norm::set::run,            \
            ops::linear::set::run, ops::multiply::set::run, ops::rms_norm::set::run, ops::rotate_half::set::run, \
            ops::silu::set::run                                                                                  \
    }

constexpr KernelTable kPortable = INKSTONE_TABLE(portable);
#if defined(__x86_64__)
constexpr KernelTable kAvx2 = INKSTONE_TABLE(avx2);
constexpr KernelTable kAvx512 = INKSTONE_TABLE(avx512);
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
        case InstructionSet::avx512_bf16:
            return kAvx512;
#endif
        default:
            return kPortable;
    }
}

}  // namespace inkstone::backend::cpu
