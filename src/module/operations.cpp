// Counts the two operators that take nearly all of the time.
#include "module/operations.h"

#include <variant>
#include <vector>

namespace inkstone::module {

Operations operations(const graph::Graph& graph, const RowCounts& rows, double visible) {
    Operations count;
    for (const graph::Node& node : graph.nodes) {
        const graph::ValueInfo& out = graph.values[node.outputs[0].index];
        const auto row_count = static_cast<double>(rows[static_cast<std::size_t>(out.rows)]);
        if (std::holds_alternative<ops::Linear>(node.parameters)) {
            for (const graph::Matrix number : node.matrices) {
                const graph::MatrixConstant& matrix = graph.matrices[number.index];
                count.products +=
                    2.0 * static_cast<double>(matrix.outputs) * static_cast<double>(matrix.inputs) * row_count;
            }
        } else if (std::holds_alternative<ops::Attention>(node.parameters)) {
            count.attention += 4.0 * static_cast<double>(out.width) * visible * row_count;
        }
    }
    return count;
}

std::uint64_t matrix_bytes_read(const Module& module) {
    const graph::Graph& graph = module.graph();
    std::vector<bool> read(graph.matrices.size(), false);
    for (const graph::Node& node : graph.nodes) {
        if (std::holds_alternative<ops::Embedding>(node.parameters)) continue;
        for (const graph::Matrix matrix : node.matrices) read[matrix.index] = true;
    }
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < read.size(); ++i) {
        if (read[i]) bytes += module.weights().matrix({i}).bytes();
    }
    return bytes;
}

}  // namespace inkstone::module
