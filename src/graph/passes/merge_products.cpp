// Queries, keys and values; gate and up: the input is read once, and the threads meet once.
#include "graph/passes/passes.h"
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Graph merge_products(Graph graph) {
    std::vector<bool> merged(graph.nodes.size(), false);
    const auto is_plain = [](const Node& node) {
        const auto* linear = as<ops::Linear>(node);
        return linear != nullptr && linear->epilogue == ops::Epilogue::none;
    };
    for (std::size_t first = 0; first < graph.nodes.size(); ++first) {
        Node& product = graph.nodes[first];
        if (merged[first] || !is_plain(product)) continue;
        for (std::size_t next = first + 1; next < graph.nodes.size(); ++next) {
            const Node& other = graph.nodes[next];
            if (!is_plain(other) || other.inputs[0].index != product.inputs[0].index || other.stage != product.stage ||
                other.vectors.empty() != product.vectors.empty())
                break;
            product.outputs.insert(product.outputs.end(), other.outputs.begin(), other.outputs.end());
            product.matrices.insert(product.matrices.end(), other.matrices.begin(), other.matrices.end());
            product.vectors.insert(product.vectors.end(), other.vectors.begin(), other.vectors.end());
            merged[next] = true;
        }
    }
    erase_nodes(graph, merged);
    return graph;
}

}  // namespace inkstone::graph::passes
