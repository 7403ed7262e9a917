// Embedding: y[r] = row ids[r] of a packed matrix, widened to float. The matrix may be the LM head's: tied weights are
// held once. Copying: one form serves all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/packed_matrix.h"

namespace inkstone::ops::embedding {

struct Arguments {
    const std::int32_t* ids = nullptr;  // [rows], each inside [0, table.outputs): checked by the caller
    float* y = nullptr;                 // [rows, table.inputs]
    tensor::PackedMatrix table;         // outputs = vocabulary, inputs = width
    std::size_t rows = 0;
};

// Rows [first_row, end_row). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::embedding
