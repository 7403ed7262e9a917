// How much arithmetic a run of a graph is: what estimates of time are made of.
#pragma once

#include "graph/graph.h"
#include "module/plan.h"

namespace inkstone::module {

// Floating-point operations (a multiplication and an addition are two) of one run.
struct Operations {
    double products = 0;   // linear: 2 * outputs * inputs a row
    double attention = 0;  // 4 * head_dim * heads * positions a row
};

// visible: positions that a row sees on average.
Operations operations(const graph::Graph& graph, const RowCounts& rows, double visible);

}  // namespace inkstone::module
