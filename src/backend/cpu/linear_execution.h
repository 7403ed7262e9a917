// The execution of products: one or several matrices of one input, and what becomes of their outputs.
#pragma once

#include <memory>

#include "backend/api/backend.h"
#include "ops/operators.h"

namespace inkstone {
class ThreadPool;
}

namespace inkstone::backend::cpu {

struct KernelTable;

// operation.parameters is an ops::Linear. `kernels` and `pool` must outlive the execution.
std::unique_ptr<Execution> make_linear(const ops::Operator& operation, const KernelTable& kernels, ThreadPool& pool);

}  // namespace inkstone::backend::cpu
