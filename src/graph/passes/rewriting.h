// What the passes share: who reads a value, and taking nodes out.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace inkstone::graph::passes {

// Who makes and who reads each value of a graph. Describes the graph as it was when this was made.
class Readers {
public:
    explicit Readers(const Graph& graph);

    // The node that alone reads a value, once, and after which nothing needs it; nothing when there are more readers,
    // or the value is an output or a tap.
    std::optional<std::size_t> only_reader(Value value) const;
    // How often nodes read a value; an output or a tap counts as read by two more.
    std::size_t count(Value value) const { return uses_[value.index].reads; }
    // The node that makes a value; nothing for an input of the graph.
    std::optional<std::size_t> maker(Value value) const;

private:
    struct Use {
        std::size_t reads = 0, last_reader = 0;
        std::optional<std::size_t> maker;
    };
    std::vector<Use> uses_;  // by value
};

// The node as an operator T, or null.
template <class T>
const T* as(const Node& node) {
    return std::get_if<T>(&node.parameters);
}

// A product as the model wrote it: one matrix, no epilogue. Its number, when `value` is its output and only `reader`
// reads it, in the same stage.
std::optional<std::size_t> plain_product(const Graph& graph, const Readers& readers, Value value, std::size_t reader);

// Takes out the nodes that are marked.
void erase_nodes(Graph& graph, const std::vector<bool>& marked);

}  // namespace inkstone::graph::passes
