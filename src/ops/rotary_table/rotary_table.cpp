// The one form of rotary_table: a page needs it once, not once per layer, so plain loops serve.
#include "ops/rotary_table/rotary_table.h"

#include "base/elementary.h"

namespace inkstone::ops::rotary_table {

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t head_dim = arguments.head_dim, half = head_dim / 2;
    for (std::size_t r = first_row; r < end_row; ++r) {
        for (std::size_t j = 0; j < head_dim; ++j) {
            const std::int32_t position = arguments.positions[arguments.axis[j] * arguments.position_stride + r];
            const auto [sine, cosine] = sin_cos(static_cast<float>(position) * arguments.inverse_frequency[j % half]);
            arguments.cosine[r * head_dim + j] = cosine;
            arguments.sine[r * head_dim + j] = sine;
        }
    }
}

}  // namespace inkstone::ops::rotary_table
