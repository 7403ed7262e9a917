// Renaming follows the official class's own conversion; shapes follow from the configuration.
#include "model/hunyuan_vl/weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace inkstone::model::hunyuan_vl {
namespace {

using tensor::Shape;

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

void replace_first(std::string& text, std::string_view from, std::string_view to) {
    if (const auto at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

// Every tensor of the model with its shape, in the order of the flow.
std::vector<std::pair<std::string, Shape>> expected_tensors(const Config& config) {
    std::vector<std::pair<std::string, Shape>> list;
    const auto add = [&](std::string name, std::initializer_list<std::uint64_t> shape) {
        list.emplace_back(std::move(name), Shape(shape));
    };
    const VisionConfig& v = config.vision;
    const TextConfig& t = config.text;
    const std::string tower = "model.vision_tower.", language = "model.language_model.";
    const auto linear = [&](const std::string& name, std::size_t outputs, std::size_t inputs) {
        add(name + ".weight", {outputs, inputs});
        add(name + ".bias", {outputs});
    };
    const auto layer_norm = [&](const std::string& name, std::size_t width) {
        add(name + ".weight", {width});
        add(name + ".bias", {width});
    };
    add(tower + "embeddings.patch_embedding.weight", {v.hidden_size, v.num_channels, v.patch_size, v.patch_size});
    add(tower + "embeddings.patch_embedding.bias", {v.hidden_size});
    add(tower + "embeddings.position_embedding.weight", {v.position_edge * v.position_edge + 1, v.hidden_size});
    for (std::size_t layer = 0; layer < v.num_hidden_layers; ++layer) {
        const std::string at = tower + "layers." + std::to_string(layer) + ".";
        layer_norm(at + "layer_norm1", v.hidden_size);
        for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
            linear(at + "self_attn." + name, v.hidden_size, v.hidden_size);
        layer_norm(at + "layer_norm2", v.hidden_size);
        linear(at + "mlp.fc1", v.intermediate_size, v.hidden_size);
        linear(at + "mlp.fc2", v.hidden_size, v.intermediate_size);
    }
    const std::string merger = tower + "patch_merger.";
    add(merger + "before_rms.weight", {v.hidden_size});
    add(merger + "proj_conv.weight", {2 * v.hidden_size, v.hidden_size, v.spatial_merge_size, v.spatial_merge_size});
    add(merger + "proj_conv.bias", {2 * v.hidden_size});
    add(merger + "proj_out.weight", {4 * v.hidden_size, 2 * v.hidden_size, 1, 1});
    add(merger + "proj_out.bias", {4 * v.hidden_size});
    add(merger + "image_newline", {4 * v.hidden_size});
    linear(merger + "mlp", t.hidden_size, 4 * v.hidden_size);
    add(merger + "image_begin", {t.hidden_size});
    add(merger + "image_end", {t.hidden_size});
    add(merger + "after_rms.weight", {t.hidden_size});
    add(language + "embed_tokens.weight", {t.vocab_size, t.hidden_size});
    const std::size_t query_width = t.num_attention_heads * t.head_dim;
    const std::size_t key_value_width = t.num_key_value_heads * t.head_dim;
    for (std::size_t layer = 0; layer < t.num_hidden_layers; ++layer) {
        const std::string at = language + "layers." + std::to_string(layer) + ".";
        add(at + "input_layernorm.weight", {t.hidden_size});
        add(at + "self_attn.q_proj.weight", {query_width, t.hidden_size});
        add(at + "self_attn.k_proj.weight", {key_value_width, t.hidden_size});
        add(at + "self_attn.v_proj.weight", {key_value_width, t.hidden_size});
        add(at + "self_attn.query_layernorm.weight", {t.head_dim});
        add(at + "self_attn.key_layernorm.weight", {t.head_dim});
        add(at + "self_attn.o_proj.weight", {t.hidden_size, query_width});
        add(at + "post_attention_layernorm.weight", {t.hidden_size});
        add(at + "mlp.gate_proj.weight", {t.intermediate_size, t.hidden_size});
        add(at + "mlp.up_proj.weight", {t.intermediate_size, t.hidden_size});
        add(at + "mlp.down_proj.weight", {t.hidden_size, t.intermediate_size});
    }
    add(language + "norm.weight", {t.hidden_size});
    return list;
}

Error load_error(ErrorCode code, std::string subject, std::string message) {
    return {code, "load weights", std::move(subject), std::move(message)};
}

// Whether two views of the checkpoint, equally long, hold the same.
Result<bool> same_bytes(const format::Checkpoint& checkpoint, std::span<const std::byte> a,
                        std::span<const std::byte> b) {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    std::vector<std::byte> left(std::min(kBlock, a.size())), right(left.size());
    for (std::size_t at = 0; at < a.size(); at += kBlock) {
        const std::size_t count = std::min(kBlock, a.size() - at);
        for (auto [part, out] : {std::pair(a.subspan(at, count), &left), std::pair(b.subspan(at, count), &right)})
            if (!checkpoint.read(part, out->data())) return checkpoint.read_failure(part);
        if (std::memcmp(left.data(), right.data(), count) != 0) return false;
    }
    return true;
}

}  // namespace

std::string class_name(std::string_view name_on_disk) {
    std::string name(name_on_disk);
    if (starts_with(name, "model.vit.")) {
        name = "model.vision_tower." + name.substr(10);
    } else if (starts_with(name, "vit.")) {
        name = "model.vision_tower." + name.substr(4);
    } else if (starts_with(name, "model.") && !starts_with(name, "model.language_model.") &&
               !starts_with(name, "model.vision_tower.")) {
        name = "model.language_model." + name.substr(6);
    }
    if (!starts_with(name, "model.vision_tower.")) return name;
    replace_first(name, ".perceive.", ".patch_merger.");
    replace_first(name, ".patch_merger.proj.0.", ".patch_merger.proj_conv.");
    replace_first(name, ".patch_merger.proj.2.", ".patch_merger.proj_out.");
    if (starts_with(name, "model.vision_tower.layers.")) {
        replace_first(name, ".input_layernorm.", ".layer_norm1.");
        replace_first(name, ".post_attention_layernorm.", ".layer_norm2.");
        replace_first(name, ".mlp.dense_h_to_4h.", ".mlp.fc1.");
        replace_first(name, ".mlp.dense_4h_to_h.", ".mlp.fc2.");
    }
    return name;
}

Result<Weights> Weights::open(const format::Checkpoint& checkpoint, const Config& config) {
    std::map<std::string, std::string_view, std::less<>> on_disk;  // class name -> name on disk
    for (const std::string_view name : checkpoint.names()) {
        const auto [at, added] = on_disk.emplace(class_name(name), name);
        if (!added)
            return load_error(ErrorCode::malformed, std::string(name),
                              "names the same tensor as \"" + std::string(at->second) + "\", expected one of them");
    }
    Weights weights;
    std::string missing;
    std::size_t missing_count = 0;
    for (const auto& [name, shape] : expected_tensors(config)) {
        const auto at = on_disk.find(name);
        if (at == on_disk.end()) {
            if (missing_count++ == 0) missing = name;
            continue;
        }
        const tensor::TensorView* view = checkpoint.find(at->second);
        if (!(view->shape == shape))
            return load_error(ErrorCode::mismatch, std::string(at->second),
                              "has shape " + tensor::to_string(view->shape) + ", expected " + tensor::to_string(shape) +
                                  " from config.json");
        if (view->type != tensor::DataType::f32 && view->type != tensor::DataType::f16 &&
            view->type != tensor::DataType::bf16)
            return load_error(ErrorCode::unsupported, std::string(at->second),
                              "has element type " + std::string(tensor::name_of(view->type)) +
                                  ", expected F32, F16 or BF16: the model's weights as published");
        if (at->second != name) weights.old_names_ = true;
        weights.tensors_.emplace(name, view);
        on_disk.erase(at);
    }
    if (missing_count > 0)
        return load_error(ErrorCode::not_found, missing,
                          "is not in " + checkpoint.folder().string() + "; " + std::to_string(missing_count) + " of " +
                              std::to_string(weights.tensors_.size() + missing_count) +
                              " tensors are missing: download the whole checkpoint folder again");
    // A head on disk must be the embedding: it is held once.
    if (const auto head = on_disk.find("lm_head.weight"); head != on_disk.end()) {
        const tensor::TensorView* view = checkpoint.find(head->second);
        const tensor::TensorView* embedding = weights.tensors_.at("model.language_model.embed_tokens.weight");
        bool equal = view->type == embedding->type && view->shape == embedding->shape;
        if (equal) {
            INKSTONE_TRY(equal, same_bytes(checkpoint, view->bytes, embedding->bytes));
        }
        if (!equal)
            return load_error(ErrorCode::unsupported, "lm_head.weight",
                              "differs from embed_tokens.weight, expected a tied head (absent or equal)");
        on_disk.erase(head);
    }
    for (const auto& [name, disk_name] : on_disk)
        if (name != "model.vision_tower.patch_merger.image_sep") weights.unused_.emplace_back(disk_name);
    return weights;
}

graph::Matrix Weights::matrix(graph::Builder& builder, const std::string& name, std::size_t inner) const {
    const tensor::TensorView& view = *tensors_.at(name);
    const auto outputs = static_cast<std::size_t>(view.shape[0]);
    const std::size_t inputs = outputs == 0 ? 0 : static_cast<std::size_t>(view.element_count()) / outputs;
    return builder.matrix(name, view, outputs, inputs, inner);
}

graph::Vector Weights::vector(graph::Builder& builder, const std::string& name, std::size_t skip) const {
    const tensor::TensorView& view = *tensors_.at(name);
    return builder.vector(name, view, static_cast<std::size_t>(view.element_count()) - skip, skip);
}

}  // namespace inkstone::model::hunyuan_vl
