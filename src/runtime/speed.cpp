// Times a linear operator with the backend's own execution: many rows on a part of a middle matrix, one row on the
// largest matrix (the head).
#include "runtime/speed.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "module/plan.h"

namespace inkstone::runtime {
namespace {

constexpr std::size_t kManyRows = 192;
constexpr std::size_t kManyRowsOutputs = 512;
constexpr int kRepeats = 3;

// The shortest of some runs, in milliseconds.
Result<double> time_linear(backend::Backend& backend, const tensor::PackedMatrix& matrix, ops::ElementType input,
                           std::size_t rows) {
    INKSTONE_TRY(const auto product, TimedProduct::create(backend, matrix, input, rows));
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first warms caches and threads
        INKSTONE_TRY(const double ms, product.run_ms());
        if (repeat > 0) best = std::min(best, ms);
    }
    return best;
}

}  // namespace

Result<TimedProduct> TimedProduct::create(backend::Backend& backend, const tensor::PackedMatrix& matrix,
                                          ops::ElementType input, std::size_t rows) {
    ops::Operator linear;
    linear.parameters = ops::Linear{};
    linear.inputs = {{0, ops::Rows::token, matrix.inputs, input}};
    linear.outputs = {{1, ops::Rows::token, matrix.outputs, ops::ElementType::f32}};
    linear.matrices = {matrix};
    TimedProduct product;
    product.rows_ = rows;
    INKSTONE_TRY(product.execution_, backend.prepare(linear));
    INKSTONE_TRY(product.x_,
                 backend.allocate(rows * ops::row_stride(input, matrix.inputs) * sizeof(float), "time of a product"));
    INKSTONE_TRY(product.y_, backend.allocate(rows * matrix.outputs * sizeof(float), "time of a product"));
    return product;
}

Result<double> TimedProduct::run_ms() const {
    void* const values[] = {x_->data(), y_->data()};
    module::RowCounts counts{};
    counts[static_cast<std::size_t>(ops::Rows::token)] = rows_;
    backend::RunContext context;
    context.values = values;
    context.rows = counts.data();
    const auto start = std::chrono::steady_clock::now();
    if (!execution_->run(context))
        return Error{ErrorCode::cancelled, "measure", "", "the work was cancelled before it was done"};
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return std::max(ms, 1e-6);
}

Result<Speed> measure_speed(const module::Module& module) {
    const graph::Graph& graph = module.graph();
    graph::Matrix largest, middle;
    const auto packed = [&](graph::Matrix matrix) { return module.weights().matrix(matrix); };
    const auto input = [&](graph::Matrix matrix) { return graph.matrices[matrix.index].input_type(); };
    for (std::uint32_t i = 1; i < graph.matrices.size(); ++i) {
        const std::size_t bytes = packed({i}).bytes();
        if (bytes > packed(largest).bytes()) {
            middle = largest;
            largest = {i};
        } else if (middle.index == largest.index || bytes > packed(middle).bytes()) {
            middle = {i};
        }
    }
    tensor::PackedMatrix many = packed(middle);
    many.outputs = std::min(many.outputs, kManyRowsOutputs);
    Speed speed;
    INKSTONE_TRY(const double many_ms, time_linear(module.backend(), many, input(middle), kManyRows));
    speed.operations_per_ms =
        2.0 * static_cast<double>(kManyRows) * static_cast<double>(many.outputs * many.inputs) / many_ms;
    INKSTONE_TRY(const double one_ms, time_linear(module.backend(), packed(largest), input(largest), 1));
    speed.weight_bytes_per_ms = static_cast<double>(packed(largest).bytes()) / one_ms;
    return speed;
}

}  // namespace inkstone::runtime
