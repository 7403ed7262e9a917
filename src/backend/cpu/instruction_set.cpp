// Asks the CPU what it can run.
#include "backend/cpu/instruction_set.h"

namespace inkstone::backend::cpu {

std::string_view name_of(InstructionSet set) {
    switch (set) {
        case InstructionSet::reference:
            return "reference";
        case InstructionSet::portable:
            return "portable";
        case InstructionSet::avx2:
            return "avx2";
        case InstructionSet::avx512:
            return "avx512";
        case InstructionSet::avx512_vnni:
            return "avx512_vnni";
        case InstructionSet::avx512_bf16:
            return "avx512_bf16";
    }
    return "portable";
}

bool supported(InstructionSet set) {
    switch (set) {
        case InstructionSet::reference:
        case InstructionSet::portable:
            return true;
#if defined(__x86_64__)
        case InstructionSet::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                   __builtin_cpu_supports("f16c");
        case InstructionSet::avx512:
            return supported(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
        case InstructionSet::avx512_vnni:
            return supported(InstructionSet::avx512) && __builtin_cpu_supports("avx512vnni");
        case InstructionSet::avx512_bf16:
            return supported(InstructionSet::avx512_vnni) && __builtin_cpu_supports("avx512bf16");
#endif
        default:
            return false;
    }
}

std::vector<InstructionSet> supported_sets() {
    std::vector<InstructionSet> sets;
    for (const auto set : {InstructionSet::reference, InstructionSet::portable, InstructionSet::avx2,
                           InstructionSet::avx512, InstructionSet::avx512_vnni, InstructionSet::avx512_bf16})
        if (supported(set)) sets.push_back(set);
    return sets;
}

InstructionSet best_set() { return supported_sets().back(); }

}  // namespace inkstone::backend::cpu
