// Rewritings of a graph that keep its meaning and save passes over memory. model/ writes graphs as the paper does; what
// runs is the same graph after these. Each leaves outputs and taps as values of the graph, with the same bits, and
// never takes away a value that something else reads. None knows a backend.
#pragma once

#include "graph/graph.h"

namespace inkstone::graph::passes {

// Products of one input that stand one after another become one product over several matrices.
Graph merge_products(Graph graph);

// silu(gate product) * up product, of one input, becomes one product over both matrices.
Graph fuse_gates(Graph graph);

// gelu(product) and a + product become the product's epilogue.
Graph fuse_epilogues(Graph graph);

// A rotation and the norm of each head after it become one operator.
Graph fuse_head_norms(Graph graph);

// All of the above, in the order in which each finds most.
Graph fuse(Graph graph);

}  // namespace inkstone::graph::passes
