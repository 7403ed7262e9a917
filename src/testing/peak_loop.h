// The loop in registers that a kernel form is held against, for the operators' benchmarks.
#pragma once

#include "backend/cpu/limits/peak_loops.h"
#include "testing/instruction_sets.h"

namespace inkstone::testing {

// Of float multiply-adds in the form's set, of BF16 dot products in avx512_bf16, of byte dot products in avx512_vnni:
// only operators in those arithmetics have these forms.
inline backend::cpu::PeakLoop peak_loop(InstructionSet set) {
    using backend::cpu::Arithmetic;
    using Set = backend::cpu::InstructionSet;
    switch (set) {
        case InstructionSet::portable:
            break;
        case InstructionSet::avx2:
            return *backend::cpu::peak_loop(Arithmetic::f32, Set::avx2);
        case InstructionSet::avx512:
            return *backend::cpu::peak_loop(Arithmetic::f32, Set::avx512);
        case InstructionSet::avx512_vnni:
            return *backend::cpu::peak_loop(Arithmetic::int8, Set::avx512_vnni);
        case InstructionSet::avx512_bf16:
            return *backend::cpu::peak_loop(Arithmetic::bf16, Set::avx512_bf16);
    }
    return *backend::cpu::peak_loop(Arithmetic::f32, Set::portable);
}

}  // namespace inkstone::testing
