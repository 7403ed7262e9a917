// No two values that live at once share memory, in plans of random graphs and of every size.
#include "module/plan.h"

#include <gtest/gtest.h>

#include <random>

namespace inkstone::module {
namespace {

using graph::Builder;
using graph::Value;
using ops::Rows;

const std::vector<std::byte> kBytes(1 << 16);

tensor::TensorView view(std::uint64_t elements) {
    return {tensor::DataType::f32, tensor::Shape{elements}, std::span(kBytes).first(elements * 4)};
}

// A chain with side branches: what a residual network does, and worse.
graph::Graph random_graph(unsigned seed) {
    std::mt19937 random(seed);
    Builder g;
    std::vector<Value> values = {g.input("x", Rows::token, 16)};
    for (int i = 0; i < 30; ++i) {
        const Value a = values[random() % values.size()], b = values[values.size() - 1 - random() % 2 % values.size()];
        switch (random() % 4) {
            case 0:
                values.push_back(g.linear(b, g.matrix("w", view(256), 16, 16)));
                break;
            case 1:
                values.push_back(g.add(a, b));
                break;
            case 2:
                values.push_back(g.silu(b));
                break;
            default:
                values.push_back(g.rms_norm(a, g.vector("n", view(16), 16), 1e-5F));
        }
    }
    g.tap("tap", values[5]);
    g.output("y", values.back());
    return std::move(*std::move(g).finish());
}

RowCounts token_rows(std::size_t rows) {
    RowCounts counts{};
    counts[static_cast<std::size_t>(Rows::token)] = rows;
    return counts;
}

TEST(Plan, LivingValuesNeverShareMemory) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        const graph::Graph graph = random_graph(seed);
        const std::vector<Value> keep = {graph.taps.at("tap")};
        const Plan plan = make_plan(graph, token_rows(1 + seed * 7), keep);
        const std::size_t bytes = (1 + seed * 7) * 16 * sizeof(float);
        EXPECT_EQ(plan.offsets[graph.inputs.at("x").index], kOutside);
        std::vector<std::size_t> last_use(graph.values.size(), 0);
        for (std::size_t node = 0; node < graph.nodes.size(); ++node)
            for (const Value value : graph.nodes[node].inputs) last_use[value.index] = node;
        last_use[graph.outputs.at("y").index] = last_use[keep[0].index] = graph.nodes.size();
        for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
            const Value made = graph.nodes[node].outputs[0];
            EXPECT_LE(plan.offsets[made.index] + bytes, plan.bytes);
            // Values made before that are read by a later node must not be overwritten.
            for (std::size_t before = 0; before < node; ++before) {
                const Value other = graph.nodes[before].outputs[0];
                if (last_use[other.index] <= node && other.index != made.index) {
                    const bool read_now = last_use[other.index] == node;
                    const bool in_place = plan.offsets[other.index] == plan.offsets[made.index] &&
                                          graph.nodes[node].inputs[0].index == other.index &&
                                          !std::holds_alternative<ops::Linear>(graph.nodes[node].parameters);
                    if (!read_now || in_place) continue;
                }
                const std::size_t a = plan.offsets[made.index], b = plan.offsets[other.index];
                EXPECT_TRUE(a + bytes <= b || b + bytes <= a)
                    << "seed " << seed << ", node " << node << " overwrites the value of node " << before;
            }
        }
    }
}

TEST(Plan, MoreRowsNeverNeedLess) {
    const graph::Graph graph = random_graph(3);
    std::size_t before = 0;
    for (const std::size_t rows : {0U, 1U, 2U, 16U, 17U, 64U, 512U}) {
        const std::size_t bytes = make_plan(graph, token_rows(rows), {}).bytes;
        EXPECT_GE(bytes, before);
        before = bytes;
    }
    EXPECT_EQ(make_plan(graph, token_rows(0), {}).bytes, 0U);
}

}  // namespace
}  // namespace inkstone::module
