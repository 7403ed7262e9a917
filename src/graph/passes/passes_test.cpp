// Each pass keeps a graph's meaning to the last bit, takes what it is for, and leaves what something else reads.
#include "graph/passes/passes.h"

#include <gtest/gtest.h>

#include "testing/graph_runs.h"

namespace inkstone::graph::passes {
namespace {

using ops::Epilogue;
using ops::Rows;
using testing::Constants;
using testing::same_meaning;

constexpr std::size_t kWidth = 40, kWide = 150;  // two tiles and a part of a third

// Products by epilogue and number of matrices, to see what a pass did.
std::size_t products(const Graph& graph, Epilogue epilogue, std::size_t matrices) {
    std::size_t count = 0;
    for (const Node& node : graph.nodes)
        if (const auto* linear = std::get_if<ops::Linear>(&node.parameters))
            count += linear->epilogue == epilogue && node.matrices.size() == matrices ? 1 : 0;
    return count;
}

Graph finish(Builder& g) {
    auto graph = std::move(g).finish();
    EXPECT_TRUE(graph.ok());
    return std::move(*graph);
}

class Passes : public ::testing::Test {
protected:
    Value product(Value input, std::size_t outputs, bool biased = true) {
        const Matrix matrix = constants.matrix(g, outputs, width);
        return biased ? g.linear(input, matrix, constants.vector(g, outputs)) : g.linear(input, matrix);
    }
    Constants constants;
    Builder g;
    std::size_t width = kWidth;  // of the input of the next product
    Value x = g.input("x", Rows::token, kWidth);
};

TEST_F(Passes, NeighbouringProductsOfOneInputAreMerged) {
    g.output("q", product(x, kWide));
    g.output("k", product(x, 64));
    g.tap("v", product(x, 3));
    g.output("other", product(x, 65, false));  // has no bias: a product of its own
    g.output("own", g.add(product(x, 7), product(x, 7)));
    const Graph graph = finish(g), merged = merge_products(graph);
    EXPECT_EQ(products(merged, Epilogue::none, 3), 1U);
    EXPECT_EQ(products(merged, Epilogue::none, 1), 1U);
    EXPECT_EQ(products(merged, Epilogue::none, 2), 1U);
    EXPECT_TRUE(same_meaning(merged, graph));
}

TEST_F(Passes, ProductsOfDifferentInputsOrStagesStayApart) {
    g.stage("first");
    g.output("a", product(x, 5));
    g.output("b", product(g.input("z", Rows::token, kWidth), 5));
    g.stage("second");
    g.output("c", product(x, 5));
    const Graph graph = finish(g), merged = merge_products(graph);
    EXPECT_EQ(products(merged, Epilogue::none, 1), 3U);
    EXPECT_TRUE(same_meaning(merged, graph));
}

TEST_F(Passes, GatedProductsAreOne) {
    for (const bool biased : {false, true}) {
        const Value gate = product(x, kWide, biased), up = product(x, kWide, biased);
        g.output(biased ? "biased" : "plain", g.multiply(g.silu(gate), up));
        const Value up_first = product(x, 64, biased), gate_after = product(x, 64, biased);
        g.output(biased ? "turned, biased" : "turned", g.multiply(up_first, g.silu(gate_after)));
    }
    const Graph graph = finish(g), fused = fuse_gates(graph);
    EXPECT_EQ(products(fused, Epilogue::silu_multiply, 2), 4U);
    EXPECT_EQ(fused.nodes.size(), 4U);
    EXPECT_TRUE(same_meaning(fused, graph));
}

TEST_F(Passes, AGateThatIsReadElsewhereStays) {
    const auto gated = [&](auto&& use) {
        const Value gate = product(x, kWide), up = product(x, kWide), silu = g.silu(gate);
        use(gate, silu, up);
        return g.multiply(silu, up);
    };
    g.output("1", gated([&](Value gate, Value, Value) { g.tap("gate", gate); }));
    g.output("2", gated([&](Value, Value silu, Value) { g.output("silu", silu); }));
    g.output("3", gated([&](Value, Value, Value up) { g.output("read", g.gelu(up)); }));
    const Value self = product(x, kWide);
    g.output("4", g.multiply(g.silu(self), self));
    width = kWide;
    const Value other_input = product(g.input("z", Rows::token, kWide), kWide);
    width = kWidth;
    g.output("5", g.multiply(g.silu(other_input), product(x, kWide)));
    const Graph graph = finish(g), fused = fuse_gates(graph);
    EXPECT_EQ(fused.nodes.size(), graph.nodes.size());
    EXPECT_TRUE(same_meaning(fused, graph));
}

TEST_F(Passes, ActivationAndResidualAdditionAreEpilogues) {
    g.output("gelu", g.gelu(product(x, kWide)));
    g.output("gelu without bias", g.gelu(product(x, 1, false)));
    const Value residual = g.silu(x);
    g.output("added", g.add(residual, product(x, kWidth)));
    g.output("added before", g.add(product(x, kWidth, false), x));
    const Value late = g.input("late", Rows::token, 64);
    const Value first = product(x, 64);  // stands before its residual is made
    g.output("residual made later", g.add(g.rms_norm(late, constants.vector(g, 64), 1e-5F), first));
    const Graph graph = finish(g), fused = fuse_epilogues(graph);
    EXPECT_EQ(products(fused, Epilogue::gelu, 1), 2U);
    EXPECT_EQ(products(fused, Epilogue::add, 1), 3U);
    EXPECT_EQ(fused.nodes.size(), 7U);
    EXPECT_TRUE(same_meaning(fused, graph));
}

TEST_F(Passes, AResidualIsOverwrittenOnlyWhenItIsNotTheInput) {
    width = kWide;  // several tiles: a later one still reads what an earlier one would overwrite
    Value stream = g.silu(g.input("z", Rows::token, kWide));
    for (int layer = 0; layer < 3; ++layer) stream = g.add(stream, product(stream, kWide));
    g.output("stream", stream);
    const Graph graph = finish(g), fused = fuse_epilogues(graph);
    EXPECT_EQ(products(fused, Epilogue::add, 1), 3U);
    EXPECT_TRUE(same_meaning(fused, graph));
}

TEST_F(Passes, AProductThatIsReadElsewhereHasNoEpilogue) {
    const Value tapped = product(x, kWidth);
    g.tap("tapped", tapped);
    g.output("1", g.gelu(tapped));
    const Value twice = product(x, kWidth);
    g.output("2", g.add(twice, twice));
    const Value read = product(x, kWidth);
    g.output("3", g.add(x, read));
    g.output("4", g.silu(read));
    g.stage("next");
    const Graph graph = finish(g), fused = fuse_epilogues(graph);
    EXPECT_EQ(fused.nodes.size(), graph.nodes.size());
    EXPECT_TRUE(same_meaning(fused, graph));
}

TEST_F(Passes, RotationAndHeadNormsAreOne) {
    constexpr std::size_t kHead = 20;
    const Builder::Rotation rotation{g.input("cosine", Rows::token, kHead), g.input("sine", Rows::token, kHead)};
    const Vector weight = constants.vector(g, kHead);
    g.output("y", g.rms_norm(g.rotate_half(x, rotation, 2), weight, 1e-6F, 2));
    const Value tapped = g.rotate_half(x, rotation, 2);
    g.tap("tapped", tapped);
    g.output("z", g.rms_norm(tapped, weight, 1e-6F, 2));
    g.output("whole row", g.rms_norm(g.rotate_half(x, rotation, 2), constants.vector(g, kWidth), 1e-6F));
    const Graph graph = finish(g), fused = fuse_head_norms(graph);
    EXPECT_EQ(fused.nodes.size(), graph.nodes.size() - 1);
    EXPECT_TRUE(same_meaning(fused, graph));
}

// The middle of a layer with everything that fuse looks for.
TEST_F(Passes, ALayerIsAFewProducts) {
    const Value h = g.rms_norm(x, constants.vector(g, kWidth), 1e-6F);
    const Value q = product(h, kWidth), k = product(h, 20), v = product(h, 20);
    g.output("k", k);
    g.output("v", v);
    Value stream = g.add(x, product(q, kWidth));
    const Value normed = g.rms_norm(stream, constants.vector(g, kWidth), 1e-6F);
    const Value gated = g.multiply(g.silu(product(normed, kWide, false)), product(normed, kWide, false));
    width = kWide;
    stream = g.add(stream, product(gated, kWidth, false));
    g.tap("layer", stream);
    g.output("y", g.gelu(stream));
    const Graph graph = finish(g), fused = fuse(graph);
    EXPECT_EQ(fused.nodes.size(), 7U);
    EXPECT_TRUE(same_meaning(fused, graph));
    const auto rows = testing::rows_in_each_class(64);
    EXPECT_LT(module::make_plan(fused, rows, {}).bytes, module::make_plan(graph, rows, {}).bytes);
}

std::size_t roundings(const Graph& graph) {
    std::size_t count = 0;
    for (const Node& node : graph.nodes) count += std::holds_alternative<ops::RoundBf16>(node.parameters) ? 1 : 0;
    return count;
}

bool everywhere(std::string_view) { return true; }

// Who writes bf16 and where a node of its own rounds.
TEST_F(Passes, InputsOfBf16ProductsAreRoundedOnce) {
    const Value h = g.rms_norm(x, constants.vector(g, kWidth), 1e-6F);  // read by products alone
    g.output("q", product(h, 20));
    g.output("k", product(h, 20));
    const Value tapped = g.rms_norm(x, constants.vector(g, kWidth), 1e-5F);  // read from outside as well
    g.tap("tapped", tapped);
    g.output("v", product(tapped, 20));
    g.output("w", g.gelu(product(tapped, 20)));
    const Value hidden = g.gelu(product(h, kWide));
    width = kWide;
    g.output("y", product(hidden, 65));
    width = kWidth;
    g.output("z", product(g.add(x, x), 7));  // an operator that writes floats only
    const Graph graph = use_bf16(fuse(finish(g)), everywhere);
    EXPECT_EQ(roundings(graph), 2U);
    EXPECT_EQ(graph.values[h.index].type, ElementType::bf16);
    EXPECT_EQ(graph.values[hidden.index].type, ElementType::bf16);
    EXPECT_EQ(graph.values[tapped.index].type, ElementType::f32);
    for (const Node& node : graph.nodes) {
        if (std::holds_alternative<ops::Linear>(node.parameters)) {
            EXPECT_EQ(graph.values[node.inputs[0].index].type, ElementType::bf16);
        }
    }
    EXPECT_TRUE(same_meaning(graph, use_bf16(graph, [](std::string_view) { return false; })));
}

// Fused or not, the rounded graph has one meaning: where the rounding is done changes no bit.
TEST_F(Passes, FusionChangesNoBitInBf16) {
    const std::size_t odd = 33;
    const Value h = g.layer_norm(x, constants.vector(g, kWidth), constants.vector(g, kWidth), 1e-6F);
    g.output("k", product(h, 20));
    g.output("v", product(h, 20));
    const Value gated = g.multiply(g.silu(product(h, odd, false)), product(h, odd, false));
    width = odd;
    const Value stream = g.add(x, product(gated, kWidth));
    width = kWidth;
    const Value wide = g.gelu(product(stream, kWide));
    width = kWide;
    g.output("y", g.add(stream, product(wide, kWidth, false)));
    const Graph graph = finish(g);
    EXPECT_TRUE(same_meaning(use_bf16(fuse(graph), everywhere), use_bf16(graph, everywhere)));
}

TEST_F(Passes, OtherStagesStayF32) {
    g.stage("first");
    const Value h = g.silu(x);
    g.output("a", product(h, 5));
    g.stage("second");
    g.output("b", product(h, 5));
    const Graph graph = finish(g), lowered = use_bf16(graph, [](std::string_view stage) { return stage == "second"; });
    EXPECT_EQ(lowered.matrices[0].bf16, false);
    EXPECT_EQ(lowered.matrices[1].bf16, true);
    EXPECT_EQ(roundings(lowered), 1U);
    EXPECT_EQ(testing::run_graph(lowered, 3, backend::cpu::best_set(), 1).at("a"),
              testing::run_graph(graph, 3, backend::cpu::best_set(), 1).at("a"));
}

// Products that read one value share its quantised form; other stages stay as they are.
TEST_F(Passes, QuantisesWhatProductsOfAStageRead) {
    g.stage("first");
    const Value h = g.silu(x);
    g.output("a", product(h, 5));
    g.stage("second");
    g.output("b", product(h, 5));
    g.output("c", product(h, 6));
    const tensor::QuantisedFormat format{tensor::WeightFormat::q8, {64, tensor::ScaleType::f16}};
    const Graph graph = finish(g),
                lowered = use_int8(graph, format, [](std::string_view stage) { return stage == "second"; });
    EXPECT_FALSE(lowered.matrices[0].quantised.has_value());
    EXPECT_EQ(lowered.matrices[1].quantised, format);
    EXPECT_EQ(lowered.matrices[2].input_type(), ElementType::int8_64);
    EXPECT_EQ(lowered.nodes.size(), graph.nodes.size() + 1);
    const auto found = testing::run_graph(lowered, 3, backend::cpu::best_set(), 1),
               expected = testing::run_graph(graph, 3, backend::cpu::best_set(), 1);
    EXPECT_EQ(found.at("a"), expected.at("a"));
    EXPECT_NE(found.at("b"), expected.at("b"));
    for (const auto set : backend::cpu::supported_sets())
        for (const int threads : {1, 2}) EXPECT_EQ(testing::run_graph(lowered, 3, set, threads), found);
}

}  // namespace
}  // namespace inkstone::graph::passes
