// The order of the passes.
#include <utility>

#include "graph/passes/passes.h"

namespace inkstone::graph::passes {

Graph fuse(Graph graph) {
    graph = fuse_gates(std::move(graph));  // looks for products on their own, so before they are merged
    graph = fuse_epilogues(std::move(graph));
    graph = fuse_head_norms(std::move(graph));
    return merge_products(std::move(graph));
}

}  // namespace inkstone::graph::passes
