// Small graphs run through the executor: random constants and inputs, outputs and taps by name. For tests that compare
// a graph with what a pass made of it.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/instruction_set.h"
#include "graph/graph.h"
#include "module/plan.h"

namespace inkstone::testing {

// Random weights that live as long as this, for graphs that only view them.
class Constants {
public:
    graph::Matrix matrix(graph::Builder& builder, std::size_t outputs, std::size_t inputs);
    graph::Vector vector(graph::Builder& builder, std::size_t count);

private:
    tensor::TensorView next(std::size_t count, float scale);
    std::deque<std::vector<float>> values_;
};

// The same number of rows in every class.
module::RowCounts rows_in_each_class(std::size_t rows);

using NamedValues = std::map<std::string, std::vector<float>>;

// Every output and tap of the graph after a run on random floats (the same for the same names and number of rows).
NamedValues run_graph(const graph::Graph& graph, std::size_t rows, backend::cpu::InstructionSet set, int threads);

// Whether two graphs give the same names with the same bits, with 1, 5, 17 and 200 rows, on every instruction set of
// this processor, with 1 and 2 threads.
::testing::AssertionResult same_meaning(const graph::Graph& found, const graph::Graph& expected);

}  // namespace inkstone::testing
