// One walk over the products.
#include "module/precision_report.h"

#include <algorithm>
#include <vector>

namespace inkstone::module {
namespace {

// Bytes by name; the names joined, most bytes first.
class Shares {
public:
    void add(std::string_view name, std::size_t bytes) {
        auto found = std::ranges::find(shares_, name, &Share::name);
        if (found == shares_.end()) found = shares_.insert(shares_.end(), {name, 0});
        found->bytes += bytes;
    }
    std::string names() {
        std::ranges::stable_sort(shares_, [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
        std::string text;
        for (const Share& share : shares_) text += (text.empty() ? "" : "+") + std::string(share.name);
        return text.empty() ? "no" : text;
    }

private:
    struct Share {
        std::string_view name;
        std::size_t bytes;
    };
    std::vector<Share> shares_;
};

std::string_view name_of(tensor::WeightFormat format) {
    switch (format) {
        case tensor::WeightFormat::f32:
            return "f32";
        case tensor::WeightFormat::bf16:
            return "bf16";
        case tensor::WeightFormat::f16:
            return "f16";
        case tensor::WeightFormat::q8:
            return "q8";
        case tensor::WeightFormat::q4:
            return "q4";
    }
    return "";
}

}  // namespace

std::string describe_products(const Module& module, const std::function<bool(std::string_view stage)>& chosen) {
    const graph::Graph& graph = module.graph();
    Shares arithmetic, storage;
    bool rounded = false;
    for (const graph::Node& node : graph.nodes) {
        if (!std::holds_alternative<ops::Linear>(node.parameters) || !chosen(graph.stages[node.stage])) continue;
        const graph::ElementType input = graph.values[node.inputs[0].index].type;
        const std::string_view name = ops::group_of(input) != 0           ? "int8"
                                      : input == graph::ElementType::bf16 ? "bf16"
                                                                          : "f32";
        for (const graph::Matrix matrix : node.matrices) {
            const tensor::PackedMatrix& packed = module.weights().matrix(matrix);
            arithmetic.add(name, packed.bytes());
            storage.add(name_of(packed.format), packed.bytes());
            rounded = rounded || module.weights().rounded(matrix);
        }
    }
    return arithmetic.names() + " arithmetic, " + storage.names() + " weights" + (rounded ? " (rounded)" : "");
}

}  // namespace inkstone::module
