// Adding nodes: shapes inferred, widths checked.
#include "graph/graph.h"

#include <algorithm>
#include <utility>

namespace inkstone::graph {

using ops::Rows;

void Builder::expect(std::string_view operation, std::string_view what, std::size_t found, std::size_t expected) {
    if (found == expected || mistake_) return;
    mistake_ = Error{ErrorCode::mismatch, "build graph", std::string(operation),
                     std::string(what) + " is " + std::to_string(found) + ", expected " + std::to_string(expected)};
}

Value Builder::make(Rows rows, std::size_t width) {
    graph_.values.push_back({rows, width, ElementType::f32, {}});
    return {static_cast<std::uint32_t>(graph_.values.size() - 1)};
}

Value Builder::node(ops::Parameters parameters, std::vector<Value> inputs, Rows rows, std::size_t width,
                    std::vector<Matrix> matrices, std::vector<Vector> vectors) {
    const Value out = make(rows, width);
    add({std::move(parameters), std::move(inputs), {out}, std::move(matrices), std::move(vectors)});
    return out;
}

void Builder::add(Node node) {
    if (graph_.stages.empty()) graph_.stages.emplace_back("run");
    node.stage = static_cast<std::uint32_t>(graph_.stages.size() - 1);
    graph_.nodes.push_back(std::move(node));
}

Value Builder::input(std::string_view name, Rows rows, std::size_t width, ElementType type) {
    const Value value = make(rows, width);
    graph_.values.back().type = type;
    graph_.values.back().input = name;
    graph_.inputs.insert_or_assign(std::string(name), value);
    return value;
}

Matrix Builder::matrix(std::string name, const tensor::TensorView& source, std::size_t outputs, std::size_t inputs,
                       std::size_t inner) {
    expect(name, "the number of elements", source.element_count(), outputs * inputs);
    graph_.matrices.push_back({std::move(name), source, outputs, inputs, inner});
    return {static_cast<std::uint32_t>(graph_.matrices.size() - 1)};
}

Vector Builder::vector(std::string name, const tensor::TensorView& source, std::size_t count, std::size_t skip) {
    expect(name, "the number of elements", source.element_count(), count + skip);
    graph_.vectors.push_back({std::move(name), source, count, skip});
    return {static_cast<std::uint32_t>(graph_.vectors.size() - 1)};
}

Value Builder::linear(Value x, Matrix weight, std::optional<Vector> bias) {
    const MatrixConstant& matrix = graph_.matrices[weight.index];
    expect(matrix.name, "the input's width", info(x).width, matrix.inputs);
    std::vector<Vector> vectors;
    if (bias) {
        expect(graph_.vectors[bias->index].name, "the bias's width", graph_.vectors[bias->index].count, matrix.outputs);
        vectors.push_back(*bias);
    }
    return node(ops::Linear{}, {x}, info(x).rows, matrix.outputs, {weight}, std::move(vectors));
}

Value Builder::rms_norm(Value x, Vector weight, float epsilon, std::size_t groups) {
    const VectorConstant& vector = graph_.vectors[weight.index];
    expect(vector.name, "the input's width", info(x).width, vector.count * groups);
    return node(ops::RmsNorm{epsilon, groups}, {x}, info(x).rows, info(x).width, {}, {weight});
}

Value Builder::layer_norm(Value x, Vector weight, Vector bias, float epsilon) {
    expect(graph_.vectors[weight.index].name, "the input's width", info(x).width, graph_.vectors[weight.index].count);
    expect(graph_.vectors[bias.index].name, "the input's width", info(x).width, graph_.vectors[bias.index].count);
    return node(ops::LayerNorm{epsilon}, {x}, info(x).rows, info(x).width, {}, {weight, bias});
}

Value Builder::add(Value a, Value b) {
    expect("add", "the second width", info(b).width, info(a).width);
    return node(ops::Add{}, {a, b}, info(a).rows, info(a).width);
}

Value Builder::multiply(Value a, Value b) {
    expect("multiply", "the second width", info(b).width, info(a).width);
    return node(ops::Multiply{}, {a, b}, info(a).rows, info(a).width);
}

Value Builder::silu(Value x) { return node(ops::Silu{}, {x}, info(x).rows, info(x).width); }

Value Builder::gelu(Value x) { return node(ops::Gelu{}, {x}, info(x).rows, info(x).width); }

Builder::Rotation Builder::rotary_table(Value positions, std::vector<std::uint8_t> axis,
                                        std::vector<float> inverse_frequency) {
    const std::size_t head_dim = axis.size();
    expect("rotary_table", "twice the number of frequencies", inverse_frequency.size() * 2, head_dim);
    const Value cosine = make(info(positions).rows, head_dim);
    const Value sine = make(info(positions).rows, head_dim);
    add({ops::RotaryTable{std::move(axis), std::move(inverse_frequency)}, {positions}, {cosine, sine}, {}, {}});
    return {cosine, sine};
}

Value Builder::rotate_half(Value x, Rotation rotation, std::size_t heads) {
    expect("rotate_half", "the input's width", info(x).width, heads * info(rotation.cosine).width);
    return node(ops::RotateHalf{heads, {}}, {x, rotation.cosine, rotation.sine}, info(x).rows, info(x).width);
}

Value Builder::attention(Value q, Value k, Value v, std::size_t heads, std::size_t layer, float scale) {
    expect("attention", "the queries' width", info(q).width, heads * graph_.kv.head_dim);
    expect("attention", "the keys' width", info(k).width, graph_.kv.kv_heads * graph_.kv.head_dim);
    expect("attention", "the values' width", info(v).width, graph_.kv.kv_heads * graph_.kv.head_dim);
    if (layer >= graph_.kv.layers && !mistake_)
        mistake_ = Error{ErrorCode::mismatch, "build graph", "attention",
                         "the layer is " + std::to_string(layer) + ", expected less than the cache's " +
                             std::to_string(graph_.kv.layers)};
    expect("attention", "query heads beyond whole groups", heads % std::max<std::size_t>(graph_.kv.kv_heads, 1), 0);
    return node(ops::Attention{heads, layer, scale}, {q, k, v}, info(q).rows, info(q).width);
}

Value Builder::embedding(Value ids, Matrix table) {
    return node(ops::Embedding{}, {ids}, info(ids).rows, graph_.matrices[table.index].inputs, {table});
}

Value Builder::scatter_rows(Value x, Value row_pointers) {
    return node(ops::ScatterRows{}, {x, row_pointers}, info(x).rows, info(x).width);
}

Value Builder::gather_rows(Value x, Value row_numbers) {
    return node(ops::GatherRows{}, {x, row_numbers}, info(row_numbers).rows, info(x).width);
}

Value Builder::interpolate_positions(Value x, Vector table, std::size_t edge) {
    expect(graph_.vectors[table.index].name, "the table's size", graph_.vectors[table.index].count,
           edge * edge * info(x).width);
    return node(ops::InterpolatePositions{edge}, {x}, info(x).rows, info(x).width, {}, {table});
}

Value Builder::merge_patches(Value x, std::size_t merge) {
    return node(ops::MergePatches{merge}, {x}, Rows::cell, info(x).width * merge * merge);
}

Value Builder::insert_newlines(Value x, Vector newline) {
    expect(graph_.vectors[newline.index].name, "the width", graph_.vectors[newline.index].count, info(x).width);
    return node(ops::InsertNewlines{}, {x}, Rows::line, info(x).width, {}, {newline});
}

Value Builder::frame_rows(Value x, Vector begin, Vector end) {
    expect(graph_.vectors[begin.index].name, "the width", graph_.vectors[begin.index].count, info(x).width);
    expect(graph_.vectors[end.index].name, "the width", graph_.vectors[end.index].count, info(x).width);
    return node(ops::FrameRows{}, {x}, Rows::visual, info(x).width, {}, {begin, end});
}

Result<Graph> Builder::finish() && {
    if (mistake_) return *mistake_;
    return std::move(graph_);
}

}  // namespace inkstone::graph
