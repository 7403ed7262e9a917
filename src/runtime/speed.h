// How fast this machine runs the loaded model's products, measured in some milliseconds: for estimates of time.
#pragma once

#include "backend/api/backend.h"
#include "base/result.h"
#include "module/module.h"

namespace inkstone::runtime {

struct Speed {
    double operations_per_ms = 0;    // products of many rows
    double weight_bytes_per_ms = 0;  // products of one row: reading weights
};

// Runs a few products with the module's own matrices. Errors: out_of_memory, cancelled.
Result<Speed> measure_speed(const module::Module& module);

}  // namespace inkstone::runtime
