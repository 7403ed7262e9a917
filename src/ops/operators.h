// The list of operators: what a graph's nodes are and what a backend is asked to prepare. Each one's meaning stands in
// its own folder, NAME/NAME.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/packed_matrix.h"
#include "tensor/quantised_row.h"

namespace inkstone::ops {

// What becomes of a block of a product's outputs while it is still in the cache: the operator of that name, whose
// element-wise result does not depend on where it is computed. Set by graph/passes/, never by model/.
enum class Epilogue : std::uint8_t {
    none,
    gelu,           // y = gelu(product)
    add,            // y = second input + product; y may lie where the second input does
    silu_multiply,  // y = silu(product of matrix 0) * product of matrix 1
};

// Parameters of each operator beside its inputs and weights.
struct Linear {                          // one or several matrices of one input; as many vectors (biases), or none
    Epilogue epilogue = Epilogue::none;  // none: an output for each matrix; others: one output
};
struct RmsNorm {  // vector (weight)
    float epsilon = 0;
    std::size_t groups = 1;  // norms per row: 1, or the number of heads
};
struct LayerNorm {  // vectors (weight, bias)
    float epsilon = 0;
};
struct Add {};
struct Multiply {};
struct Silu {};
struct Gelu {};
struct RotaryTable {                       // input: positions; outputs: cosine, sine
    std::vector<std::uint8_t> axis;        // [head_dim]
    std::vector<float> inverse_frequency;  // [head_dim / 2]
};
struct RoundBf16 {};     // float to bfloat16
struct QuantiseRows {};  // float to int8 in groups
struct RotateHalf {      // inputs: x, cosine, sine
    std::size_t heads = 0;
    std::optional<float> norm_epsilon;  // then an rms_norm of each head: vector (weight)
};
struct Attention {  // inputs: q, k, v; stores k and v first
    std::size_t heads = 0;
    std::size_t layer = 0;  // which layer of the cached blocks
    float scale = 1;
};
struct Embedding {};           // input: ids; matrix
struct ScatterRows {};         // inputs: x, row pointers
struct GatherRows {};          // inputs: x, row numbers
struct InterpolatePositions {  // vector (table)
    std::size_t edge = 0;
};
struct MergePatches {
    std::size_t merge = 0;
};
struct InsertNewlines {};  // vector (newline)
struct FrameRows {};       // vectors (begin, end)

using Parameters = std::variant<Linear, RmsNorm, LayerNorm, Add, Multiply, Silu, Gelu, RoundBf16, QuantiseRows,
                                RotaryTable, RotateHalf, Attention, Embedding, ScatterRows, GatherRows,
                                InterpolatePositions, MergePatches, InsertNewlines, FrameRows>;

// "linear", "rms_norm", ...: the operator's folder.
std::string_view name_of(const Parameters& parameters);

// Rows of values are counted in classes: every value of a class has the same number of rows in one run.
enum class Rows : std::uint8_t {
    token,   // tokens of one or many sequences
    logit,   // the tokens whose logits are wanted
    patch,   // patches of an image
    cell,    // merged patches
    line,    // merged patches with a newline after each row of them
    visual,  // the same between begin and end: the image's tokens
};
constexpr std::size_t kRowClasses = 6;

// Elements of a value. A row of bf16 has room for an even number of elements; of an odd width the last one is +0.
// Operators compute on f32 and give f32, except that the product of a bf16 input is linear_bf16, and that a bf16 output
// of a product or a norm is rounded as by round_bf16 when it is written; the product of quantised rows is linear_int8.
// int8_64 and int8_32 are rows quantised in groups of 64 or 32 inputs (tensor/quantised_row.h), counted in bytes.
enum class ElementType : std::uint8_t { f32, bf16, i32, pointer, int8_64, int8_32 };

// Inputs of one group of quantised rows; 0 for all other types.
constexpr std::size_t group_of(ElementType type) {
    return type == ElementType::int8_64 ? 64 : type == ElementType::int8_32 ? 32 : 0;
}

// Elements from one row of a value to the next.
constexpr std::size_t row_stride(ElementType type, std::size_t width) {
    if (group_of(type) != 0) return tensor::QuantisedRow{width, group_of(type)}.bytes();
    return type == ElementType::bf16 ? width + width % 2 : width;
}

// Bytes of what row_stride counts; pointers are held by the caller.
constexpr std::size_t element_bytes(ElementType type) {
    return group_of(type) != 0 ? 1 : type == ElementType::bf16 ? 2 : 4;
}

// A value as an operator sees it: its number in the plan, its rows' class, its width in elements and their type.
struct Operand {
    std::uint32_t value = 0;
    Rows rows = Rows::token;
    std::size_t width = 0;
    ElementType type = ElementType::f32;
};

// One operator with its operands and packed weights, ready to be prepared by a backend.
struct Operator {
    Parameters parameters;
    std::vector<Operand> inputs, outputs;
    std::vector<tensor::PackedMatrix> matrices;
    std::vector<const float*> vectors;
};

}  // namespace inkstone::ops
