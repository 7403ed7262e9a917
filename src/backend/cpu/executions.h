// Executions of the CPU backend: one operator bound to its weights, its kernel and the pool that shares its work.
#pragma once

#include <memory>

#include "backend/api/backend.h"
#include "ops/operators.h"

namespace inkstone {
class ThreadPool;
}

namespace inkstone::backend::cpu {

struct KernelTable;

// `kernels` and `pool` must outlive the execution.
Result<std::unique_ptr<Execution>> make_execution(const ops::Operator& operation, const KernelTable& kernels,
                                                  ThreadPool& pool);

}  // namespace inkstone::backend::cpu
