// Which products compute in BF16 is a matter of stages; which values become bf16 follows from who reads them.
#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {
namespace {

// Operators that can write their output as bf16.
bool rounds_its_output(const Node& node) {
    return as<ops::Linear>(node) != nullptr || as<ops::RmsNorm>(node) != nullptr || as<ops::LayerNorm>(node) != nullptr;
}

}  // namespace

Graph use_bf16(Graph graph, const std::function<bool(std::string_view stage)>& chosen) {
    const Readers readers(graph);
    const auto in_bf16 = [&](const Node& node) {
        return as<ops::Linear>(node) != nullptr && chosen(graph.stages[node.stage]);
    };
    // How often products in BF16 read each value: where nobody else does, the value itself becomes bf16.
    std::vector<std::size_t> product_reads(graph.values.size(), 0);
    for (const Node& node : graph.nodes) {
        if (!in_bf16(node)) continue;
        product_reads[node.inputs[0].index] += 1;
        for (const Matrix matrix : node.matrices) graph.matrices[matrix.index].bf16 = true;
    }
    const auto becomes_bf16 = [&](Value x) {
        const auto maker = readers.maker(x);
        return maker && rounds_its_output(graph.nodes[*maker]) && readers.count(x) == product_reads[x.index];
    };
    std::vector<std::optional<Value>> rounded(graph.values.size());  // the bf16 form of each value that has one
    std::vector<Node> nodes;
    nodes.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        nodes.push_back(node);
        if (!in_bf16(node)) continue;
        const Value x = node.inputs[0];
        std::optional<Value>& form = rounded[x.index];
        if (!form && becomes_bf16(x)) {
            graph.values[x.index].type = ElementType::bf16;
            form = x;
        }
        if (!form) {
            const ValueInfo& info = graph.values[x.index];
            form = Value{static_cast<std::uint32_t>(graph.values.size())};
            nodes.insert(nodes.end() - 1, Node{ops::RoundBf16{}, {x}, {*form}, {}, {}, node.stage});
            graph.values.push_back({info.rows, info.width, ElementType::bf16, {}});
        }
        nodes.back().inputs[0] = *form;
    }
    graph.nodes = std::move(nodes);
    return graph;
}

}  // namespace inkstone::graph::passes
