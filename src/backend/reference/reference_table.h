// The operators' reference loops in the form of a kernel table: the meaning of a graph, run as it stands. Slow; every
// other backend and instruction set is compared with it.
#pragma once

#include "backend/cpu/kernel_table.h"

namespace inkstone::backend::reference {

const cpu::KernelTable& kernel_table();

}  // namespace inkstone::backend::reference
