// Runs of small graphs.
#include "testing/graph_runs.h"

#include <functional>

#include "backend/cpu/cpu_backend.h"
#include "module/session.h"
#include "testing/buffers.h"

namespace inkstone::testing {

tensor::TensorView Constants::next(std::size_t count, float scale) {
    values_.push_back(random_floats(count, static_cast<std::uint32_t>(values_.size() + 1), scale));
    return {tensor::DataType::f32, tensor::Shape{count}, std::as_bytes(std::span(values_.back()))};
}

graph::Matrix Constants::matrix(graph::Builder& builder, std::size_t outputs, std::size_t inputs) {
    const std::string name = "matrix " + std::to_string(values_.size());
    return builder.matrix(name, next(outputs * inputs, 0.1F), outputs, inputs);
}

graph::Vector Constants::vector(graph::Builder& builder, std::size_t count) {
    const std::string name = "vector " + std::to_string(values_.size());
    return builder.vector(name, next(count, 1), count);
}

module::RowCounts rows_in_each_class(std::size_t rows) {
    module::RowCounts counts{};
    counts.fill(rows);
    return counts;
}

NamedValues run_graph(const graph::Graph& graph, std::size_t rows, backend::cpu::InstructionSet set, int threads) {
    auto backend = backend::cpu::CpuBackend::create(set, threads);
    EXPECT_TRUE(backend.ok());
    auto module = module::Module::create(graph, **backend);
    EXPECT_TRUE(module.ok()) << module.error().text();
    std::vector<std::string> taps;
    for (const auto& [name, value] : graph.taps) taps.push_back(name);
    auto session = module::Session::create(*module, taps);
    EXPECT_TRUE(session.ok()) << session.error().text();
    std::vector<std::vector<float>> inputs;
    for (const auto& [name, value] : graph.inputs) {
        const auto seed = static_cast<std::uint32_t>(std::hash<std::string>{}(name));
        inputs.push_back(random_floats(rows * graph.values[value.index].width, seed));
        (*session)->bind(value, inputs.back().data());
    }
    EXPECT_TRUE((*session)->run(rows_in_each_class(rows), {}, {}).ok());
    NamedValues found;
    for (const auto* names : {&graph.outputs, &graph.taps})
        for (const auto& [name, value] : *names) {
            const float* data = (*session)->value(value);
            found[name].assign(data, data + rows * graph.values[value.index].width);
        }
    return found;
}

::testing::AssertionResult same_meaning(const graph::Graph& found, const graph::Graph& expected) {
    for (const std::size_t rows : {1U, 5U, 17U, 200U})
        for (const auto set : backend::cpu::supported_sets())
            for (const int threads : {1, 2}) {
                const NamedValues a = run_graph(found, rows, set, threads), b = run_graph(expected, rows, set, threads);
                if (a.size() != b.size() || b.empty())
                    return ::testing::AssertionFailure() << a.size() << " values, expected " << b.size();
                for (const auto& [name, values] : b) {
                    const auto same = a.contains(name) && a.at(name).size() == values.size()
                                          ? same_bits(a.at(name).data(), values.data(), values.size())
                                          : ::testing::AssertionFailure() << "is not there";
                    if (!same)
                        return ::testing::AssertionFailure() << name << " of " << rows << " rows, " << name_of(set)
                                                             << ", " << threads << " threads: " << same.message();
                }
            }
    return ::testing::AssertionSuccess();
}

}  // namespace inkstone::testing
