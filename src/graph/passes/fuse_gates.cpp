// SwiGLU's middle (Shazeer 2020): what was two results of the intermediate width and two passes over them is one.
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Graph fuse_gates(Graph graph) {
    const Readers readers(graph);
    std::vector<bool> fused(graph.nodes.size(), false);
    for (std::size_t multiply = 0; multiply < graph.nodes.size(); ++multiply) {
        Node& node = graph.nodes[multiply];
        if (as<ops::Multiply>(node) == nullptr) continue;
        for (const auto& [gated, other] :
             {std::pair(node.inputs[0], node.inputs[1]), std::pair(node.inputs[1], node.inputs[0])}) {
            const auto silu = readers.maker(gated);
            if (!silu || as<ops::Silu>(graph.nodes[*silu]) == nullptr || readers.only_reader(gated) != multiply ||
                graph.nodes[*silu].stage != node.stage)
                continue;
            const auto gate = plain_product(graph, readers, graph.nodes[*silu].inputs[0], *silu);
            const auto up = plain_product(graph, readers, other, multiply);
            if (!gate || !up || *gate == *up) continue;
            const Node &gate_product = graph.nodes[*gate], &up_product = graph.nodes[*up];
            if (gate_product.inputs[0].index != up_product.inputs[0].index ||
                gate_product.vectors.empty() != up_product.vectors.empty())
                continue;
            node.parameters = ops::Linear{ops::Epilogue::silu_multiply};
            node.inputs = gate_product.inputs;
            node.matrices = {gate_product.matrices[0], up_product.matrices[0]};
            if (!gate_product.vectors.empty()) node.vectors = {gate_product.vectors[0], up_product.vectors[0]};
            fused[*gate] = fused[*up] = fused[*silu] = true;
            break;
        }
    }
    erase_nodes(graph, fused);
    return graph;
}

}  // namespace inkstone::graph::passes
