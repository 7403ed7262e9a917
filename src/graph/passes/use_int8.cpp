// Which products compute in integer arithmetic is a matter of stages; what they read is quantised just before them.
#include <cassert>
#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Graph use_int8(Graph graph, tensor::QuantisedFormat format, const std::function<bool(std::string_view stage)>& chosen) {
    std::vector<std::optional<Value>> quantised(graph.values.size());  // the int8 form of each value that has one
    std::vector<Node> nodes;
    nodes.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        nodes.push_back(node);
        if (as<ops::Linear>(node) == nullptr || !chosen(graph.stages[node.stage])) continue;
        for (const Matrix matrix : node.matrices) graph.matrices[matrix.index].quantised = format;
        const Value x = node.inputs[0];
        std::optional<Value>& form = quantised[x.index];
        if (!form) {
            assert(graph.values[x.index].type == ElementType::f32);
            const ValueInfo& info = graph.values[x.index];
            form = Value{static_cast<std::uint32_t>(graph.values.size())};
            nodes.insert(nodes.end() - 1, Node{ops::QuantiseRows{}, {x}, {*form}, {}, {}, node.stage});
            graph.values.push_back({info.rows, info.width, graph.matrices[node.matrices[0].index].input_type(), {}});
        }
        nodes.back().inputs[0] = *form;
    }
    graph.nodes = std::move(nodes);
    return graph;
}

}  // namespace inkstone::graph::passes
