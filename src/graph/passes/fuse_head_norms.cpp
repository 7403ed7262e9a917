// Queries and keys are rotated and then normalised head by head: in one pass over them.
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Graph fuse_head_norms(Graph graph) {
    const Readers readers(graph);
    std::vector<bool> fused(graph.nodes.size(), false);
    for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
        Node& node = graph.nodes[number];
        const auto* norm = as<ops::RmsNorm>(node);
        if (norm == nullptr) continue;
        const auto rotation = readers.maker(node.inputs[0]);
        if (!rotation || readers.only_reader(node.inputs[0]) != number) continue;
        const Node& rotated = graph.nodes[*rotation];
        const auto* rotate = as<ops::RotateHalf>(rotated);
        if (rotate == nullptr || rotate->norm_epsilon || rotate->heads != norm->groups || rotated.stage != node.stage)
            continue;
        node.parameters = ops::RotateHalf{rotate->heads, norm->epsilon};
        node.inputs = rotated.inputs;
        fused[*rotation] = true;
    }
    erase_nodes(graph, fused);
    return graph;
}

}  // namespace inkstone::graph::passes
