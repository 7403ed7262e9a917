// Lifetimes from the order of nodes, then first fit: each value at the lowest offset that is free while it lives.
#include "module/plan.h"

#include <algorithm>
#include <variant>

namespace inkstone::module {
namespace {

constexpr std::size_t kAlignment = 256;

struct Life {
    std::size_t birth = 0, death = 0;  // node numbers, both included
    std::size_t bytes = 0;
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Which of its inputs a node may write its output over, or kNone.
std::size_t overwritable_input(const graph::Node& node) {
    const ops::Parameters& parameters = node.parameters;
    if (const auto* linear = std::get_if<ops::Linear>(&parameters)) {
        // A product reads its first input until the end.
        const bool adds = linear->epilogue == ops::Epilogue::add;
        return adds && node.inputs[1].index != node.inputs[0].index ? 1 : kNone;
    }
    if (node.inputs.empty()) return kNone;
    const bool in_place =
        std::holds_alternative<ops::RmsNorm>(parameters) || std::holds_alternative<ops::LayerNorm>(parameters) ||
        std::holds_alternative<ops::Add>(parameters) || std::holds_alternative<ops::Multiply>(parameters) ||
        std::holds_alternative<ops::Silu>(parameters) || std::holds_alternative<ops::Gelu>(parameters) ||
        std::holds_alternative<ops::RotateHalf>(parameters) || std::holds_alternative<ops::ScatterRows>(parameters) ||
        std::holds_alternative<ops::InterpolatePositions>(parameters);
    return in_place ? 0 : kNone;
}

}  // namespace

Plan make_plan(const graph::Graph& graph, const RowCounts& rows, const std::vector<graph::Value>& keep) {
    const std::size_t count = graph.values.size();
    std::vector<Life> lives(count);
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        for (const graph::Value value : graph.nodes[node].outputs) {
            const graph::ValueInfo& info = graph.values[value.index];
            const std::size_t bytes = rows[static_cast<std::size_t>(info.rows)] *
                                      ops::row_stride(info.type, info.width) * ops::element_bytes(info.type);
            lives[value.index] = {node, node, (bytes + kAlignment - 1) / kAlignment * kAlignment};
        }
        for (const graph::Value value : graph.nodes[node].inputs)
            lives[value.index].death = std::max(lives[value.index].death, node);
    }
    const auto keep_alive = [&](graph::Value value) { lives[value.index].death = graph.nodes.size(); };
    for (const auto& [name, value] : graph.outputs) keep_alive(value);
    for (const graph::Value value : keep) keep_alive(value);

    Plan plan;
    plan.rows = rows;
    plan.offsets.assign(count, kOutside);
    std::vector<std::uint32_t> placed;  // values alive at the current node
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        const graph::Node& current = graph.nodes[node];
        for (const graph::Value value : current.outputs) {
            Life& life = lives[value.index];
            if (const std::size_t input = overwritable_input(current); input != kNone) {
                const std::uint32_t old = current.inputs[input].index;
                if (plan.offsets[old] != kOutside && lives[old].death == node && lives[old].bytes == life.bytes &&
                    graph.values[old].type == graph.values[value.index].type) {
                    plan.offsets[value.index] = plan.offsets[old];
                    placed.push_back(value.index);
                    continue;
                }
            }
            std::sort(placed.begin(), placed.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
            std::size_t offset = 0;
            for (const std::uint32_t other : placed) {
                if (offset + life.bytes <= plan.offsets[other]) break;
                offset = std::max(offset, plan.offsets[other] + lives[other].bytes);
            }
            plan.offsets[value.index] = offset;
            plan.bytes = std::max(plan.bytes, offset + life.bytes);
            placed.push_back(value.index);
        }
        std::erase_if(placed, [&](std::uint32_t value) { return lives[value].death <= node; });
    }
    return plan;
}

}  // namespace inkstone::module
