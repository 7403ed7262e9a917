// A computation as nodes over values: what model/ builds and module/ lowers. Values are [rows, width] of floats (passes
// may make some of them bfloat16); rows
// are counted in classes (ops::Rows), so that one graph serves every image size and every number of tokens. Widths are
// checked when a node is added; the first mistake is what finish() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/operators.h"
#include "tensor/kv_block.h"
#include "tensor/tensor_view.h"

namespace inkstone::graph {

// Numbers of a value and of a constant inside their graph.
struct Value {
    std::uint32_t index = 0;
};
struct Matrix {
    std::uint32_t index = 0;
};
struct Vector {
    std::uint32_t index = 0;
};

using ops::ElementType;

struct ValueInfo {
    ops::Rows rows = ops::Rows::token;
    std::size_t width = 0;
    ElementType type = ElementType::f32;
    std::string input;  // the name under which a caller feeds it; empty for computed values
};

// A weight matrix [outputs, inputs] in a checkpoint. inner: see tensor::MatrixSource.
struct MatrixConstant {
    std::string name;
    tensor::TensorView source;
    std::size_t outputs = 0, inputs = 0, inner = 1;
    bool bf16 = false;  // kept in bf16, rounded where that is not exact: products in BF16 arithmetic read it
    std::optional<tensor::QuantisedFormat> quantised =
        std::nullopt;  // kept so, whatever bf16 says: products in integer arithmetic

    // What the products that read it take as input.
    ElementType input_type() const {
        if (quantised) return quantised->quantisation.group == 64 ? ElementType::int8_64 : ElementType::int8_32;
        return bf16 ? ElementType::bf16 : ElementType::f32;
    }
};
// A weight vector (norm, bias, table), kept in float.
struct VectorConstant {
    std::string name;
    tensor::TensorView source;
    std::size_t count = 0;
    std::size_t skip = 0;  // elements of the source before the first
};

struct Node {
    ops::Parameters parameters;
    std::vector<Value> inputs, outputs;
    std::vector<Matrix> matrices;
    std::vector<Vector> vectors;
    std::uint32_t stage = 0;  // number of its stage in Graph::stages
};

struct Graph {
    std::vector<ValueInfo> values;
    std::vector<MatrixConstant> matrices;
    std::vector<VectorConstant> vectors;
    std::vector<Node> nodes;               // in order of execution
    std::map<std::string, Value> inputs;   // by name
    std::map<std::string, Value> outputs;  // by name
    std::map<std::string, Value> taps;     // values that validation may ask to keep, by name
    std::vector<std::string> stages;       // parts of the flow that are timed apart, in order
    tensor::KvLayout kv;                   // layers = 0: no attention
};

// Builds a graph node by node. After the first mistake what is built is of no use, and finish() returns the mistake.
class Builder {
public:
    Value input(std::string_view name, ops::Rows rows, std::size_t width, ElementType type = ElementType::f32);
    Matrix matrix(std::string name, const tensor::TensorView& source, std::size_t outputs, std::size_t inputs,
                  std::size_t inner = 1);
    Vector vector(std::string name, const tensor::TensorView& source, std::size_t count, std::size_t skip = 0);
    void cache(const tensor::KvLayout& layout) { graph_.kv = layout; }
    // Later nodes belong to this stage. Called before the first node.
    void stage(std::string name) { graph_.stages.push_back(std::move(name)); }

    Value linear(Value x, Matrix weight, std::optional<Vector> bias = std::nullopt);
    Value rms_norm(Value x, Vector weight, float epsilon, std::size_t groups = 1);
    Value layer_norm(Value x, Vector weight, Vector bias, float epsilon);
    Value add(Value a, Value b);
    Value multiply(Value a, Value b);
    Value silu(Value x);
    Value gelu(Value x);
    struct Rotation {
        Value cosine, sine;
    };
    Rotation rotary_table(Value positions, std::vector<std::uint8_t> axis, std::vector<float> inverse_frequency);
    Value rotate_half(Value x, Rotation rotation, std::size_t heads);
    Value attention(Value q, Value k, Value v, std::size_t heads, std::size_t layer, float scale);
    Value embedding(Value ids, Matrix table);
    Value scatter_rows(Value x, Value row_pointers);
    Value gather_rows(Value x, Value row_numbers);
    Value interpolate_positions(Value x, Vector table, std::size_t edge);
    Value merge_patches(Value x, std::size_t merge);
    Value insert_newlines(Value x, Vector newline);
    Value frame_rows(Value x, Vector begin, Vector end);

    void tap(std::string name, Value value) { graph_.taps.insert_or_assign(std::move(name), value); }
    void output(std::string name, Value value) { graph_.outputs.insert_or_assign(std::move(name), value); }

    // The graph, or the first mistake: the operator, the value and both numbers.
    Result<Graph> finish() &&;

private:
    Value make(ops::Rows rows, std::size_t width);
    Value node(ops::Parameters parameters, std::vector<Value> inputs, ops::Rows rows, std::size_t width,
               std::vector<Matrix> matrices = {}, std::vector<Vector> vectors = {});
    void add(Node node);
    const ValueInfo& info(Value value) const { return graph_.values[value.index]; }
    // Records "what: found, expected" unless the numbers agree.
    void expect(std::string_view operation, std::string_view what, std::size_t found, std::size_t expected);

    Graph graph_;
    std::optional<Error> mistake_;
};

}  // namespace inkstone::graph
