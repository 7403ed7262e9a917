// The kernels of one instruction set, one per operator that has several forms.
#pragma once

#include "backend/cpu/instruction_set.h"
#include "ops/add/add.h"
#include "ops/attention/attention.h"
#include "ops/attention_bf16/attention_bf16.h"
#include "ops/gelu/gelu.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/linear/linear.h"
#include "ops/linear_bf16/linear_bf16.h"
#include "ops/linear_int8/linear_int8.h"
#include "ops/multiply/multiply.h"
#include "ops/quantise_rows/quantise_rows.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/rotate_half/rotate_half.h"
#include "ops/round_bf16/round_bf16.h"
#include "ops/silu/silu.h"

namespace inkstone::backend::cpu {

struct KernelTable {
    ops::add::Kernel add;
    ops::attention::Kernel attention;
    ops::attention_bf16::Kernel attention_bf16;
    ops::gelu::Kernel gelu;
    ops::layer_norm::Kernel layer_norm;
    ops::linear::Kernel linear;
    ops::linear_bf16::Kernel linear_bf16;
    ops::linear_int8::Kernel linear_int8;
    ops::multiply::Kernel multiply;
    ops::quantise_rows::Kernel quantise_rows;
    ops::rms_norm::Kernel rms_norm;
    ops::rotate_half::Kernel rotate_half;
    ops::round_bf16::Kernel round_bf16;
    ops::silu::Kernel silu;
};

// The table of a set that supported() allows.
const KernelTable& kernel_table(InstructionSet set);

}  // namespace inkstone::backend::cpu
