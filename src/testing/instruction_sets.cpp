// Asks the processor (and the operating system, which must save the registers) what it can run.
#include "testing/instruction_sets.h"

#include <cstdio>

namespace inkstone::testing {

std::string name_of(InstructionSet set) {
    switch (set) {
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
    return "";
}

const std::vector<InstructionSet>& available_instruction_sets() {
    static const std::vector<InstructionSet> sets = [] {
        std::vector<InstructionSet> found = {InstructionSet::portable};
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
            __builtin_cpu_supports("bmi2"))
            found.push_back(InstructionSet::avx2);
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
            found.push_back(InstructionSet::avx512);
            if (__builtin_cpu_supports("avx512vnni")) found.push_back(InstructionSet::avx512_vnni);
            if (__builtin_cpu_supports("avx512bf16")) found.push_back(InstructionSet::avx512_bf16);
        }
#endif
        std::printf("kernel forms under test:");
        for (const InstructionSet set : found) std::printf(" %s", name_of(set).c_str());
        std::printf("\n");
        return found;
    }();
    return sets;
}

}  // namespace inkstone::testing
