// Embedding on the CPU.
#include "ops/embedding/embedding.h"

namespace inkstone::ops::embedding {

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    for (std::size_t row = first_row; row < end_row; ++row) {
        const auto output = static_cast<std::size_t>(arguments.ids[row]);
        tensor::unpack_row(arguments.table, output, arguments.y + row * arguments.table.inputs);
    }
}

}  // namespace inkstone::ops::embedding
