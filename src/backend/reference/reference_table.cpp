// Narrows an operator's arguments to the part that a kernel call names, then runs the reference loops on it.
#include "backend/reference/reference_table.h"

#include <algorithm>

namespace inkstone::backend::reference {
namespace {

// a, b -> y element by element.
template <class Arguments, void (*reference)(const Arguments&)>
void two_inputs(const Arguments& all, std::size_t first, std::size_t end) {
    Arguments part = all;
    part.a += first;
    part.b += first;
    part.y += first;
    part.count = end - first;
    reference(part);
}

// x -> y element by element.
template <class Arguments, void (*reference)(const Arguments&)>
void one_input(const Arguments& all, std::size_t first, std::size_t end) {
    Arguments part = all;
    part.x += first;
    part.y += first;
    part.count = end - first;
    reference(part);
}

// x -> y row by row.
template <class Arguments, void (*reference)(const Arguments&)>
void norm(const Arguments& all, std::size_t first, std::size_t end) {
    Arguments part = all;
    part.x += first * all.width;
    part.y += first * all.width;
    part.rows = end - first;
    reference(part);
}

void rotate_half(const ops::rotate_half::Arguments& all, std::size_t first, std::size_t end) {
    ops::rotate_half::Arguments part = all;
    part.x += first * all.heads * all.head_dim;
    part.y += first * all.heads * all.head_dim;
    part.cosine += first * all.head_dim;
    part.sine += first * all.head_dim;
    part.rows = end - first;
    ops::rotate_half::reference(part);
}

// Products: rows and tiles.
template <class Arguments, void (*reference)(const Arguments&)>
void linear(const Arguments& all, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
            std::size_t end_tile) {
    Arguments part = all;
    const std::size_t first_output = first_tile * tensor::kTileOutputs;
    part.x += first_row * all.x_stride;
    part.y += first_row * all.y_stride + first_output;
    part.rows = end_row - first_row;
    if (part.bias != nullptr) part.bias += first_output;
    part.weight.data = all.weight.tile(first_tile);
    part.weight.outputs = std::min(all.weight.outputs, end_tile * tensor::kTileOutputs) - first_output;
    reference(part);
}

void round_bf16(const ops::round_bf16::Arguments& all, std::size_t first_row, std::size_t end_row) {
    ops::round_bf16::Arguments part = all;
    part.x += first_row * all.x_stride;
    part.y += first_row * all.y_stride;
    part.rows = end_row - first_row;
    ops::round_bf16::reference(part);
}

void quantise_rows(const ops::quantise_rows::Arguments& all, std::size_t first_row, std::size_t end_row) {
    ops::quantise_rows::Arguments part = all;
    part.x += first_row * all.x_stride;
    part.y += first_row * all.y_stride;
    part.rows = end_row - first_row;
    ops::quantise_rows::reference(part);
}

// The loops run over all heads of a row: the part that begins with the first head computes them all.
void attention(const ops::attention::Arguments& all, std::size_t first_row, std::size_t end_row,
               std::size_t first_kv_head, std::size_t) {
    if (first_kv_head != 0) return;
    ops::attention::Arguments part = all;
    const std::size_t width = all.heads * all.layout.head_dim;
    part.q += first_row * width;
    part.y += first_row * width;
    part.row_sequence += first_row;
    part.row_visible += first_row;
    part.rows = end_row - first_row;
    ops::attention::reference(part);
}

}  // namespace

const cpu::KernelTable& kernel_table() {
    static constexpr cpu::KernelTable table{
        two_inputs<ops::add::Arguments, ops::add::reference>,
        attention,
        ops::attention_bf16::reference,
        one_input<ops::gelu::Arguments, ops::gelu::reference>,
        norm<ops::layer_norm::Arguments, ops::layer_norm::reference>,
        linear<ops::linear::Arguments, ops::linear::reference>,
        linear<ops::linear_bf16::Arguments, ops::linear_bf16::reference>,
        linear<ops::linear_int8::Arguments, ops::linear_int8::reference>,
        two_inputs<ops::multiply::Arguments, ops::multiply::reference>,
        quantise_rows,
        norm<ops::rms_norm::Arguments, ops::rms_norm::reference>,
        rotate_half,
        round_bf16,
        one_input<ops::silu::Arguments, ops::silu::reference>,
    };
    return table;
}

}  // namespace inkstone::backend::reference
