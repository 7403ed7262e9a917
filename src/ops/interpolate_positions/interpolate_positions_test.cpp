// InterpolatePositions against PyTorch: equal bit for bit (tools/validation/make_operator_goldens.py made the values).
#include "ops/interpolate_positions/interpolate_positions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace inkstone::ops::interpolate_positions {
namespace {

TEST(InterpolatePositions, EqualsTorch) {
    std::ifstream file(INKSTONE_SOURCE_DIR "/tests/golden/operators/interpolate_positions.json");
    const nlohmann::json golden = nlohmann::json::parse(file);
    const auto edge = golden["edge"].get<std::size_t>(), width = golden["width"].get<std::size_t>();
    std::vector<float> table(edge * edge * width);
    for (std::size_t i = 0; i < table.size(); ++i) {
        table[i] = (static_cast<float>(i * 7919 % 2003) - 1001.0f) / 1024.0f;
    }
    for (const nlohmann::json& grid : golden["grids"]) {
        const auto height = grid["height"].get<std::size_t>(), columns = grid["width"].get<std::size_t>();
        const auto want = grid["values"].get<std::vector<float>>();
        std::vector<float> x(want.size()), y(want.size(), -1000.0f);
        ASSERT_EQ(want.size(), height * columns * width);
        Arguments arguments{.x = x.data(),
                            .table = table.data(),
                            .y = y.data(),
                            .grid_height = height,
                            .grid_width = columns,
                            .edge = edge,
                            .width = width};
        run(arguments, 0, 3);
        run(arguments, 3, height * columns);
        for (std::size_t i = 0; i < want.size(); ++i) {
            ASSERT_EQ(y[i], want[i]) << "grid " << height << " x " << columns << ", element " << i;
        }

        // What is added is that value, rounded once more; in place too.
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.3f;
        const std::vector<float> before = x;
        arguments.y = x.data();
        run(arguments, 0, height * columns);
        for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(x[i], before[i] + want[i]) << "element " << i;
    }
}

}  // namespace
}  // namespace inkstone::ops::interpolate_positions
