// KvStore into blocks of bf16; called by kv_store.cpp only.
#pragma once

#include "ops/kv_store/kv_store.h"

namespace inkstone::ops::kv_store {

// Rows [row, row + count) hold neighbouring positions of one block, from `lane` on.
void store_run_bf16(const Arguments& arguments, std::size_t row, std::size_t count, std::byte* block, std::size_t lane);

}  // namespace inkstone::ops::kv_store
