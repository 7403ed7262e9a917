// How fast this machine runs the loaded model's products: measured in some milliseconds for estimates of time, and one
// by one for runtime/bench.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/api/backend.h"
#include "base/result.h"
#include "module/module.h"

namespace inkstone::runtime {

struct Speed {
    double operations_per_ms = 0;    // products of many rows
    double weight_bytes_per_ms = 0;  // products of one row: reading weights
};

// One linear operator with the backend's own execution, to be timed, on inputs of this type. The matrix must outlive
// it. Errors: out_of_memory, cancelled, those of Backend::prepare.
class TimedProduct {
public:
    static Result<TimedProduct> create(backend::Backend& backend, const tensor::PackedMatrix& matrix,
                                       ops::ElementType input, std::size_t rows);
    Result<double> run_ms() const;

private:
    std::unique_ptr<backend::Execution> execution_;
    std::unique_ptr<backend::Memory> x_, y_;
    std::size_t rows_ = 0;
};

// Runs a few products with the module's own matrices. Errors: out_of_memory, cancelled.
Result<Speed> measure_speed(const module::Module& module);

}  // namespace inkstone::runtime
