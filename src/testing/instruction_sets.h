// The instruction sets that this machine's processor can run, for tests that compare every kernel form with the
// reference. The first test that asks prints them, so that a log shows what was covered.
#pragma once

#include <string>
#include <vector>

namespace inkstone::testing {

enum class InstructionSet { portable, avx2, avx512, avx512_vnni, avx512_bf16 };

std::string name_of(InstructionSet set);

// Always at least portable.
const std::vector<InstructionSet>& available_instruction_sets();

template <class Kernel>
struct KernelForm {
    InstructionSet set;
    Kernel run;
};

// The forms of one kernel that can run here.
template <class Kernel>
std::vector<KernelForm<Kernel>> available_forms(Kernel portable, Kernel avx2, Kernel avx512) {
    std::vector<KernelForm<Kernel>> forms;
    for (const InstructionSet set : available_instruction_sets())
        if (set != InstructionSet::avx512_vnni && set != InstructionSet::avx512_bf16)
            forms.push_back({set, set == InstructionSet::portable ? portable
                                  : set == InstructionSet::avx2   ? avx2
                                                                  : avx512});
    return forms;
}
// The same for an operator in BF16 or integer arithmetic, which has one form more, of the set `own`.
template <class Kernel>
std::vector<KernelForm<Kernel>> available_forms(Kernel portable, Kernel avx2, Kernel avx512, InstructionSet own,
                                                Kernel own_form) {
    std::vector<KernelForm<Kernel>> forms = available_forms(portable, avx2, avx512);
    for (const InstructionSet set : available_instruction_sets())
        if (set == own) forms.push_back({own, own_form});
    return forms;
}

// INKSTONE_AVAILABLE_FORMS(ops::add) is available_forms of ops::add::{portable,avx2,avx512}::run, and
// INKSTONE_AVAILABLE_BF16_FORMS(ops::linear_bf16) that of the same and avx512_bf16::run, INKSTONE_AVAILABLE_INT8_FORMS
// (ops::linear_int8) and avx512_vnni::run.
#if defined(__x86_64__)
#define INKSTONE_AVAILABLE_BF16_FORMS(op)                                                               \
    ::inkstone::testing::available_forms<op::Kernel>(op::portable::run, op::avx2::run, op::avx512::run, \
                                                     ::inkstone::testing::InstructionSet::avx512_bf16,  \
                                                     op::avx512_bf16::run)
#define INKSTONE_AVAILABLE_INT8_FORMS(op)                                                               \
    ::inkstone::testing::available_forms<op::Kernel>(op::portable::run, op::avx2::run, op::avx512::run, \
                                                     ::inkstone::testing::InstructionSet::avx512_vnni,  \
                                                     op::avx512_vnni::run)
#define INKSTONE_AVAILABLE_FORMS(op) \
    ::inkstone::testing::available_forms<op::Kernel>(op::portable::run, op::avx2::run, op::avx512::run)
#else
#define INKSTONE_AVAILABLE_BF16_FORMS(op) INKSTONE_AVAILABLE_FORMS(op)
#define INKSTONE_AVAILABLE_INT8_FORMS(op) INKSTONE_AVAILABLE_FORMS(op)
#define INKSTONE_AVAILABLE_FORMS(op) \
    ::inkstone::testing::available_forms<op::Kernel>(op::portable::run, nullptr, nullptr)
#endif

}  // namespace inkstone::testing
