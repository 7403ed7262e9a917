// A graph lowered for a backend, with its weights packed: immutable, shared by any number of sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/api/backend.h"
#include "graph/graph.h"
#include "module/weights.h"

namespace inkstone::module {

// A command list: executions in order. Immutable.
class Pipeline {
public:
    struct Command {
        std::unique_ptr<backend::Execution> execution;
        std::uint32_t stage = 0;
    };
    explicit Pipeline(std::vector<Command> commands) : commands_(std::move(commands)) {}
    Pipeline() = default;
    // Adds the time of each stage to stage_ms, one entry per stage. False when the work was cancelled part way.
    bool run(const backend::RunContext& context, std::span<double> stage_ms) const;

private:
    std::vector<Command> commands_;
};

class Module {
public:
    // Packs the weights and prepares every operator. The backend must outlive the module. Errors: those of
    // Weights::pack and Backend::prepare.
    static Result<std::shared_ptr<const Module>> create(graph::Graph graph, backend::Backend& backend,
                                                        const LoadHooks& hooks = {});

    const graph::Graph& graph() const { return graph_; }
    const Weights& weights() const { return weights_; }
    const Pipeline& pipeline() const { return pipeline_; }
    backend::Backend& backend() const { return *backend_; }

private:
    Module() = default;

    graph::Graph graph_;
    Weights weights_;
    Pipeline pipeline_;
    backend::Backend* backend_ = nullptr;
};

}  // namespace inkstone::module
