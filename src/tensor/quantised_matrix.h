// The insides of q8 and q4 in packed matrices (tensor/packed_matrix.h), for what reads them weight by weight: unpacking
// a row for the embedding, and the references of products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/packed_matrix.h"

namespace inkstone::tensor {

// The code of one weight without its offset: -128 .. 127 of q8, -8 .. 7 of q4. input < matrix.packed_inputs().
int code_of(const PackedMatrix& matrix, std::size_t output, std::size_t input);

// The scale of one group of one output, widened.
float scale_of(const PackedMatrix& matrix, std::size_t output, std::size_t group);

// unpack_row of q8 and q4.
void unpack_quantised_row(const PackedMatrix& matrix, std::size_t output, float* row);

}  // namespace inkstone::tensor
