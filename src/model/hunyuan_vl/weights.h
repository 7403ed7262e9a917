// The checkpoint's tensors under the names of the official class, whichever of the two published namings is on disk.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/checkpoint.h"
#include "graph/graph.h"
#include "model/hunyuan_vl/config.h"

namespace inkstone::model::hunyuan_vl {

// "vit.layers.0.input_layernorm.weight" -> "model.vision_tower.layers.0.layer_norm1.weight"; names of the official
// class stay as they are.
std::string class_name(std::string_view name_on_disk);

class Weights {
public:
    // Indexes the checkpoint (which must outlive the object) and checks that every tensor of the model is there with
    // its shape. Errors: not_found (the first missing tensor and how many), mismatch (a shape: both), malformed (two
    // names on disk for one tensor).
    static Result<Weights> open(const format::Checkpoint& checkpoint, const Config& config);

    // Adds a tensor to the graph under its class name. Known to exist and to fit.
    graph::Matrix matrix(graph::Builder& builder, const std::string& name, std::size_t inner = 1) const;
    graph::Vector vector(graph::Builder& builder, const std::string& name, std::size_t skip = 0) const;

    // Every tensor of the model by its class name.
    const std::map<std::string, const tensor::TensorView*, std::less<>>& tensors() const { return tensors_; }
    // Names on disk that the model does not use.
    const std::vector<std::string>& unused() const { return unused_; }
    // Whether the names on disk are the older ones.
    bool old_names() const { return old_names_; }

private:
    std::map<std::string, const tensor::TensorView*, std::less<>> tensors_;
    std::vector<std::string> unused_;
    bool old_names_ = false;
};

}  // namespace inkstone::model::hunyuan_vl
