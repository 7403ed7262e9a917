// Where each value of a graph lies in the arena for given numbers of rows. Values that are never alive together share
// memory; an element-wise operator writes over its input when nobody reads it again.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace inkstone::module {

using RowCounts = std::array<std::size_t, ops::kRowClasses>;

struct Plan {
    RowCounts rows{};                  // the most rows of each class that fit
    std::vector<std::size_t> offsets;  // in bytes, by value; kOutside for inputs
    std::size_t bytes = 0;
};

constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

// keep: values that must still hold their content when the run has ended, beside the graph's outputs.
Plan make_plan(const graph::Graph& graph, const RowCounts& rows, const std::vector<graph::Value>& keep);

}  // namespace inkstone::module
