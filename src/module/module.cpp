// Lowering: each node becomes an operator with packed weights, prepared by the backend.
#include "module/module.h"

#include <chrono>
#include <utility>

namespace inkstone::module {

bool Pipeline::run(const backend::RunContext& context, std::span<double> stage_ms) const {
    using Clock = std::chrono::steady_clock;
    bool done = true;
    for (std::size_t i = 0; done && i < commands_.size();) {
        const std::uint32_t stage = commands_[i].stage;
        const Clock::time_point start = Clock::now();
        for (; done && i < commands_.size() && commands_[i].stage == stage; ++i)
            done = commands_[i].execution->run(context);
        stage_ms[stage] += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    return done;
}

Result<std::shared_ptr<const Module>> Module::create(graph::Graph graph, backend::Backend& backend,
                                                     const LoadHooks& hooks) {
    std::shared_ptr<Module> module(new Module);
    module->graph_ = std::move(graph);
    module->backend_ = &backend;
    INKSTONE_TRY(module->weights_, Weights::pack(module->graph_, backend, hooks));
    const auto operand = [&](graph::Value value) {
        const graph::ValueInfo& info = module->graph_.values[value.index];
        return ops::Operand{value.index, info.rows, info.width, info.type};
    };
    std::vector<Pipeline::Command> commands;
    for (const graph::Node& node : module->graph_.nodes) {
        ops::Operator operation;
        operation.parameters = node.parameters;
        for (const graph::Value value : node.inputs) operation.inputs.push_back(operand(value));
        for (const graph::Value value : node.outputs) operation.outputs.push_back(operand(value));
        for (const graph::Matrix matrix : node.matrices) operation.matrices.push_back(module->weights_.matrix(matrix));
        for (const graph::Vector vector : node.vectors) operation.vectors.push_back(module->weights_.vector(vector));
        INKSTONE_TRY(auto execution, backend.prepare(operation));
        commands.push_back({std::move(execution), node.stage});
    }
    module->pipeline_ = Pipeline(std::move(commands));
    return std::shared_ptr<const Module>(std::move(module));
}

}  // namespace inkstone::module
