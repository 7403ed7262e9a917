// The activation and the residual addition after a product: one pass over its outputs less.
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Graph fuse_epilogues(Graph graph) {
    const Readers readers(graph);
    std::vector<bool> fused(graph.nodes.size(), false);
    // The product moves to where its reader stands: what else the reader needs has been computed there.
    const auto take = [&](std::size_t product, Node& reader, ops::Epilogue epilogue) {
        reader.parameters = ops::Linear{epilogue};
        reader.matrices = graph.nodes[product].matrices;
        reader.vectors = graph.nodes[product].vectors;
        fused[product] = true;
    };
    for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
        Node& node = graph.nodes[number];
        if (as<ops::Gelu>(node) != nullptr) {
            if (const auto product = plain_product(graph, readers, node.inputs[0], number)) {
                node.inputs = graph.nodes[*product].inputs;
                take(*product, node, ops::Epilogue::gelu);
            }
        } else if (as<ops::Add>(node) != nullptr) {
            for (const std::size_t place : {1U, 0U}) {
                const auto product = plain_product(graph, readers, node.inputs[place], number);
                if (!product) continue;
                node.inputs = {graph.nodes[*product].inputs[0], node.inputs[1 - place]};
                take(*product, node, ops::Epilogue::add);
                break;
            }
        }
    }
    erase_nodes(graph, fused);
    return graph;
}

}  // namespace inkstone::graph::passes
