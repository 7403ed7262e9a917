// Which loop stands for which kernels.
#include "backend/cpu/limits/peak_loops.h"

namespace inkstone::backend::cpu {
namespace {

bool has_vnni() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

std::optional<PeakLoop> f32_loop(InstructionSet set) {
    switch (set) {
        case InstructionSet::avx512:
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
    const bool wide = set == InstructionSet::avx512 || set == InstructionSet::avx512_bf16;
    switch (arithmetic) {
        case Arithmetic::f32:
            return f32_loop(set);
        case Arithmetic::bf16:
            if (set == InstructionSet::avx512_bf16) return avx512_bf16_loop();
            break;
        case Arithmetic::int8:
            if (wide && has_vnni()) return avx512_vnni_loop();
            if (wide || set == InstructionSet::avx2) return avx2_int8_loop();
            break;
    }
    return std::nullopt;
}

}  // namespace inkstone::backend::cpu
