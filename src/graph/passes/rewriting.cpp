// Readers of values, from one walk over the nodes.
#include "graph/passes/rewriting.h"

namespace inkstone::graph::passes {

Readers::Readers(const Graph& graph) : uses_(graph.values.size()) {
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        for (const Value value : graph.nodes[node].inputs) {
            uses_[value.index].reads += 1;
            uses_[value.index].last_reader = node;
        }
        for (const Value value : graph.nodes[node].outputs) uses_[value.index].maker = node;
    }
    // Read from outside: never one reader alone.
    for (const auto& [name, value] : graph.outputs) uses_[value.index].reads += 2;
    for (const auto& [name, value] : graph.taps) uses_[value.index].reads += 2;
}

std::optional<std::size_t> Readers::only_reader(Value value) const {
    const Use& use = uses_[value.index];
    if (use.reads != 1) return std::nullopt;
    return use.last_reader;
}

std::optional<std::size_t> Readers::maker(Value value) const { return uses_[value.index].maker; }

std::optional<std::size_t> plain_product(const Graph& graph, const Readers& readers, Value value, std::size_t reader) {
    const auto maker = readers.maker(value);
    if (!maker || readers.only_reader(value) != reader) return std::nullopt;
    const Node& node = graph.nodes[*maker];
    const auto* linear = as<ops::Linear>(node);
    if (linear == nullptr || linear->epilogue != ops::Epilogue::none || node.matrices.size() != 1) return std::nullopt;
    if (node.stage != graph.nodes[reader].stage) return std::nullopt;
    return maker;
}

void erase_nodes(Graph& graph, const std::vector<bool>& marked) {
    std::vector<Node> kept;
    kept.reserve(graph.nodes.size());
    for (std::size_t node = 0; node < graph.nodes.size(); ++node)
        if (!marked[node]) kept.push_back(std::move(graph.nodes[node]));
    graph.nodes = std::move(kept);
}

}  // namespace inkstone::graph::passes
