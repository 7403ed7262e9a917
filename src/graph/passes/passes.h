// Rewritings of a graph before it is lowered. model/ writes graphs as the paper does; what runs is the same graph after
// these. Each leaves outputs and taps as values of the graph, and never takes away a value that something else reads;
// none knows a backend. All but use_bf16 and use_int8 save passes over memory and change no bit.
#pragma once

#include <functional>
#include <string_view>

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

// The products of the stages that `chosen` names compute in BF16 arithmetic: their matrices are kept in bf16, and their
// inputs are values of bf16, written so by the norm or product that makes them or else by a node of their own. All that
// is between products stays f32: residual stream, norms, activations, softmax. This pass does change the result: by the
// rounding of weights and inputs. Run after fuse, it finds more values that are written as bf16 at once.
Graph use_bf16(Graph graph, const std::function<bool(std::string_view stage)>& chosen);

// The products of the stages that `chosen` names compute in integer arithmetic: their matrices are quantised to
// `format`, whose groups are of 64 or 32 inputs, and each of their inputs is quantised by a node of its own, once for
// all products that read it. All between products stays f32. Run after fuse.
Graph use_int8(Graph graph, tensor::QuantisedFormat format, const std::function<bool(std::string_view stage)>& chosen);

}  // namespace inkstone::graph::passes
