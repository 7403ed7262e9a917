// How much arithmetic a run of a graph is, and how many bytes of weights it reads: what estimates of time are made of.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "module/module.h"
#include "module/plan.h"

namespace inkstone::module {

// Floating-point operations (a multiplication and an addition are two) of one run.
struct Operations {
    double products = 0;   // linear: 2 * outputs * inputs a row
    double attention = 0;  // 4 * head_dim * heads * positions a row
};

// visible: positions that a row sees on average.
Operations operations(const graph::Graph& graph, const RowCounts& rows, double visible);

// Bytes of packed matrices that every run reads from end to end: all but those of which only rows are looked up.
std::uint64_t matrix_bytes_read(const Module& module);

}  // namespace inkstone::module
