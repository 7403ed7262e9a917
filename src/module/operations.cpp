// Counts the two operators that take nearly all of the time.
#include "module/operations.h"

#include <variant>

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

}  // namespace inkstone::module
