// A pre-norm transformer over patches with full attention inside one image and no final norm, then the merger.
// Names and order are the official implementation's (transformers, models/hunyuan_vl).
#include "model/hunyuan_vl/vision.h"

#include <cmath>
#include <string>

namespace inkstone::model::hunyuan_vl {
namespace {

using graph::Builder;
using graph::Value;

Value linear(Builder& g, const Weights& w, Value x, const std::string& name, std::size_t inner = 1) {
    return g.linear(x, w.matrix(g, name + ".weight", inner), w.vector(g, name + ".bias"));
}

Value layer_norm(Builder& g, const Weights& w, Value x, const std::string& name, float epsilon) {
    return g.layer_norm(x, w.vector(g, name + ".weight"), w.vector(g, name + ".bias"), epsilon);
}

// x: [patches, hidden]
Value encoder_layer(Builder& g, const VisionConfig& c, const Weights& w, std::size_t layer, Value x) {
    const std::string at = "model.vision_tower.layers." + std::to_string(layer) + ".";
    Value h = layer_norm(g, w, x, at + "layer_norm1", c.rms_norm_eps);
    const Value q = linear(g, w, h, at + "self_attn.q_proj");
    const Value k = linear(g, w, h, at + "self_attn.k_proj");
    const Value v = linear(g, w, h, at + "self_attn.v_proj");
    // Keys and values of one layer at a time are kept: all layers use block 0.
    const Value a = g.attention(q, k, v, c.num_attention_heads, 0, 1.0F / std::sqrt(static_cast<float>(c.head_dim())));
    x = g.add(x, linear(g, w, a, at + "self_attn.o_proj"));
    h = layer_norm(g, w, x, at + "layer_norm2", c.rms_norm_eps);
    return g.add(x, linear(g, w, g.gelu(linear(g, w, h, at + "mlp.fc1")), at + "mlp.fc2"));
}

// x: [patches, hidden] -> [visual tokens, text hidden]
Value merger(Builder& g, const VisionConfig& c, const Weights& w, Value x) {
    const std::string at = "model.vision_tower.patch_merger.";
    x = g.rms_norm(x, w.vector(g, at + "before_rms.weight"), c.rms_norm_eps);
    // A 2x2 convolution of stride 2 is a product over the four patches of a cell.
    x = g.merge_patches(x, c.spatial_merge_size);
    x = linear(g, w, x, at + "proj_conv", c.spatial_merge_size * c.spatial_merge_size);
    x = linear(g, w, g.gelu(x), at + "proj_out");
    x = g.insert_newlines(x, w.vector(g, at + "image_newline"));
    x = linear(g, w, x, at + "mlp");
    x = g.frame_rows(x, w.vector(g, at + "image_begin"), w.vector(g, at + "image_end"));
    return g.rms_norm(x, w.vector(g, at + "after_rms.weight"), c.rms_norm_eps);
}

}  // namespace

Result<graph::Graph> vision_graph(const Config& config, const Weights& weights) {
    const VisionConfig& c = config.vision;
    const std::string embeddings = "model.vision_tower.embeddings.";
    Builder g;
    g.cache({1, c.num_attention_heads, c.head_dim()});
    Value x = g.input("patches", ops::Rows::patch, c.num_channels * c.patch_size * c.patch_size);
    g.stage("patch_embedding");
    x = linear(g, weights, x, embeddings + "patch_embedding");
    // Entry 0 of the table is a class token that nothing uses.
    const graph::Vector table = weights.vector(g, embeddings + "position_embedding.weight", c.hidden_size);
    x = g.interpolate_positions(x, table, c.position_edge);
    g.tap("patch_embedding", x);
    g.stage("vision_layers");
    for (std::size_t layer = 0; layer < c.num_hidden_layers; ++layer) {
        x = encoder_layer(g, c, weights, layer, x);
        if (layer == 0) g.tap("vision_layer_first", x);
    }
    g.tap("vision_layer_last", x);
    g.stage("merger");
    x = merger(g, c, weights, x);
    g.tap("merger", x);
    g.output("visual", x);
    return std::move(g).finish();
}

module::RowCounts vision_rows(const Config& config, std::size_t grid_height, std::size_t grid_width) {
    const std::size_t merge = config.vision.spatial_merge_size;
    const std::size_t lines = grid_height / merge, columns = grid_width / merge;
    module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::patch)] = grid_height * grid_width;
    rows[static_cast<std::size_t>(ops::Rows::cell)] = lines * columns;
    rows[static_cast<std::size_t>(ops::Rows::line)] = lines * (columns + 1);
    rows[static_cast<std::size_t>(ops::Rows::visual)] = lines * (columns + 1) + 2;
    return rows;
}

}  // namespace inkstone::model::hunyuan_vl
