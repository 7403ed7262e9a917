// Which loop stands for which kernels.
#include "backend/cpu/limits/peak_loops.h"

namespace inkstone::backend::cpu {
namespace {

std::optional<PeakLoop> f32_loop(InstructionSet set) {
    switch (set) {
        case InstructionSet::avx512:
        case InstructionSet::avx512_vnni:
        case InstructionSet::avx512_bf16:
            return avx512_f32_loop();
        case InstructionSet::avx2:
            return avx2_f32_loop();
        case InstructionSet::reference:
        case InstructionSet::portable:
            break;
    }
    return portable_f32_loop();
}

}  // namespace

std::string_view name_of(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::f32:
            return "f32";
        case Arithmetic::bf16:
            return "bf16";
        case Arithmetic::int8:
            return "int8";
    }
    return "f32";
}

std::optional<PeakLoop> peak_loop(Arithmetic arithmetic, InstructionSet set) {
    const bool vnni = set == InstructionSet::avx512_vnni || set == InstructionSet::avx512_bf16;
    switch (arithmetic) {
        case Arithmetic::f32:
            return f32_loop(set);
        case Arithmetic::bf16:
            if (set == InstructionSet::avx512_bf16) return avx512_bf16_loop();
            break;
        case Arithmetic::int8:
            if (vnni) return avx512_vnni_loop();
            if (set == InstructionSet::avx512 || set == InstructionSet::avx2) return avx2_int8_loop();
            break;
    }
    return std::nullopt;
}

}  // namespace inkstone::backend::cpu
