// Shapes follow from the nodes, and the first mistake is what finish() tells.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <functional>

namespace inkstone::graph {
namespace {

using ops::Rows;

const std::vector<std::byte> kBytes(4096);

tensor::TensorView view(std::uint64_t elements) {
    return {tensor::DataType::f32, tensor::Shape{elements}, std::span(kBytes).first(elements * 4)};
}

TEST(Builder, InfersRowsAndWidths) {
    Builder g;
    g.cache({1, 2, 4});
    const Value x = g.input("x", Rows::token, 8);
    const Value index = g.input("index", Rows::logit, 1, ElementType::i32);
    g.stage("first");
    const Value y = g.linear(x, g.matrix("w", view(96), 12, 8), g.vector("b", view(12), 12));
    g.stage("second");
    g.output("y", g.gather_rows(y, index));
    const auto graph = std::move(g).finish();
    ASSERT_TRUE(graph.ok());
    const ValueInfo& info = graph->values[graph->outputs.at("y").index];
    EXPECT_EQ(info.rows, Rows::logit);
    EXPECT_EQ(info.width, 12U);
    EXPECT_EQ(graph->inputs.at("x").index, x.index);
    EXPECT_EQ(graph->nodes[0].stage, 0U);
    EXPECT_EQ(graph->nodes[1].stage, 1U);
}

TEST(Builder, TellsTheFirstMistakeWithBothNumbers) {
    const std::pair<std::function<void(Builder&, Value)>, const char*> mistakes[] = {
        {[](Builder& g, Value x) { g.linear(x, g.matrix("w", view(70), 10, 7)); },
         "w: the input's width is 8, expected 7"},
        {[](Builder& g, Value) { g.matrix("w", view(71), 10, 7); }, "w: the number of elements is 71, expected 70"},
        {[](Builder& g, Value) { g.vector("v", view(9), 8, 2); }, "v: the number of elements is 9, expected 10"},
        {[](Builder& g, Value x) { g.linear(x, g.matrix("w", view(80), 10, 8), g.vector("b", view(9), 9)); },
         "b: the bias's width is 9, expected 10"},
        {[](Builder& g, Value x) { g.rms_norm(x, g.vector("n", view(3), 3), 0, 2); }, "is 8, expected 6"},
        {[](Builder& g, Value x) { g.layer_norm(x, g.vector("n", view(8), 8), g.vector("b", view(7), 7), 0); },
         "b: the input's width is 8, expected 7"},
        {[](Builder& g, Value x) { g.add(x, g.input("z", Rows::token, 9)); }, "add: the second width is 9, expected 8"},
        {[](Builder& g, Value x) { g.attention(x, x, x, 3, 0, 1); }, "the queries' width is 8, expected 12"},
        {[](Builder& g, Value x) { g.attention(x, x, x, 2, 1, 1); },
         "the layer is 1, expected less than the cache's 1"},
        {[](Builder& g, Value x) { g.interpolate_positions(x, g.vector("t", view(24), 24), 2); }, "is 24, expected 32"},
        {[](Builder& g, Value x) { g.insert_newlines(x, g.vector("n", view(9), 9)); }, "is 9, expected 8"},
        {[](Builder& g, Value x) { g.frame_rows(x, g.vector("n", view(8), 8), g.vector("e", view(7), 7)); },
         "e: the width is 7, expected 8"},
        {[](Builder& g, Value x) {
             g.rotary_table(x, {0, 0, 0, 0}, {1, 1, 1});
         },
         "is 6, expected 4"},
    };
    for (const auto& [make, text] : mistakes) {
        Builder g;
        g.cache({1, 2, 4});
        make(g, g.input("x", Rows::token, 8));
        const auto graph = std::move(g).finish();
        ASSERT_FALSE(graph.ok()) << text;
        EXPECT_EQ(graph.error().code, ErrorCode::mismatch);
        EXPECT_NE(graph.error().text().find(text), std::string::npos) << graph.error().text();
    }
}

TEST(Builder, QueryHeadsComeInWholeGroups) {
    Builder g;
    g.cache({1, 2, 4});
    const Value q = g.input("q", Rows::token, 12), k = g.input("k", Rows::token, 8);
    g.attention(q, k, k, 3, 0, 1);
    EXPECT_FALSE(std::move(g).finish().ok());
}

}  // namespace
}  // namespace inkstone::graph
