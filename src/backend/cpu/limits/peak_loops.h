// Loops of one arithmetic instruction on registers: what the processor can do at most, to hold kernels against. Each
// instruction set's loops stand in a file of their own, as assembly in functions that name the set they need: nothing
// else is compiled for it, and they run only where the CPU has it. Used by machine_limits.cpp and by the operators'
// benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/cpu/instruction_set.h"

namespace inkstone::backend::cpu {

// Of what numbers the products are: sums are float, float and 32-bit integers.
enum class Arithmetic : std::uint8_t { f32, bf16, int8 };

// "f32", "bf16", "int8"
std::string_view name_of(Arithmetic arithmetic);

struct PeakLoop {
    std::string_view instruction;    // what is repeated, "vfmadd231ps zmm"
    void (*run)(long steps);         // touches registers only; any thread
    double operations_per_step = 0;  // a multiplication and an addition are two
};

// The widest loop that kernels of this set could use on this CPU; nothing when neither has such an instruction. Only
// for sets that the CPU supports.
std::optional<PeakLoop> peak_loop(Arithmetic arithmetic, InstructionSet set);

// The loops by instruction set, for peak_loop; run is null where the architecture has no such set.
PeakLoop portable_f32_loop();
PeakLoop avx2_f32_loop();
PeakLoop avx2_int8_loop();
PeakLoop avx512_f32_loop();
PeakLoop avx512_bf16_loop();
PeakLoop avx512_vnni_loop();

}  // namespace inkstone::backend::cpu
