// Pre-norm decoder layers with grouped queries; rotation BEFORE the per-head norm; SwiGLU; the head tied to the
// embedding. Names and order are the official implementation's (transformers, models/hunyuan_vl).
#include "model/hunyuan_vl/text.h"

#include <cmath>
#include <string>
#include <utility>

namespace inkstone::model::hunyuan_vl {
namespace {

using graph::Builder;
using graph::Value;

// inv_freq_i = base^(-2i/d), base = theta * alpha^(d / (d - 2)): NTK-aware scaling with a fixed alpha.
std::vector<float> inverse_frequency(const TextConfig& c) {
    const auto d = static_cast<double>(c.head_dim);
    double base = c.rope_theta;
    if (c.rope_alpha > 0 && c.head_dim > 2) base *= std::pow(c.rope_alpha, d / (d - 2));
    std::vector<float> frequencies(c.head_dim / 2);
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] = static_cast<float>(1.0 / std::pow(base, static_cast<double>(2 * i) / d));
    return frequencies;
}

// xdRoPE: the doubled frequencies are cut into chunks of 2 * section; chunk i turns by the position on axis i.
std::vector<std::uint8_t> rotary_axis(const TextConfig& c) {
    std::vector<std::uint8_t> axis;
    for (std::size_t i = 0; i < c.mrope_section.size(); ++i)
        axis.insert(axis.end(), 2 * c.mrope_section[i], static_cast<std::uint8_t>(i));
    return axis;
}

// x: [rows, hidden]
Value decoder_layer(Builder& g, const TextConfig& c, const Weights& w, std::size_t layer, Value x,
                    Builder::Rotation rotation) {
    const std::string at = "model.language_model.layers." + std::to_string(layer) + ".";
    const auto norm = [&](Value value, const char* name, std::size_t heads = 1) {
        return g.rms_norm(value, w.vector(g, at + name), c.rms_norm_eps, heads);
    };
    const auto linear = [&](Value value, const char* name) { return g.linear(value, w.matrix(g, at + name)); };

    Value h = norm(x, "input_layernorm.weight");
    Value q = linear(h, "self_attn.q_proj.weight");        // [rows, heads * head_dim]
    Value k = linear(h, "self_attn.k_proj.weight");        // [rows, kv_heads * head_dim]
    const Value v = linear(h, "self_attn.v_proj.weight");  // [rows, kv_heads * head_dim]
    q = norm(g.rotate_half(q, rotation, c.num_attention_heads), "self_attn.query_layernorm.weight",
             c.num_attention_heads);
    k = norm(g.rotate_half(k, rotation, c.num_key_value_heads), "self_attn.key_layernorm.weight",
             c.num_key_value_heads);
    const Value a =
        g.attention(q, k, v, c.num_attention_heads, layer, 1.0F / std::sqrt(static_cast<float>(c.head_dim)));
    x = g.add(x, linear(a, "self_attn.o_proj.weight"));

    h = norm(x, "post_attention_layernorm.weight");
    const Value gate = linear(h, "mlp.gate_proj.weight");
    const Value up = linear(h, "mlp.up_proj.weight");
    return g.add(x, linear(g.multiply(g.silu(gate), up), "mlp.down_proj.weight"));
}

}  // namespace

Result<graph::Graph> text_graph(const Config& config, const Weights& weights) {
    const TextConfig& c = config.text;
    Builder g;
    g.cache({c.num_hidden_layers, c.num_key_value_heads, c.head_dim});
    const Value ids = g.input("ids", ops::Rows::token, 1, graph::ElementType::i32);
    const Value positions = g.input("positions", ops::Rows::token, c.mrope_section.size(), graph::ElementType::i32);
    const Value visual = g.input("visual", ops::Rows::token, 1, graph::ElementType::pointer);
    const Value logit_rows = g.input("logit_rows", ops::Rows::logit, 1, graph::ElementType::i32);

    g.stage("embed");
    const graph::Matrix embedding = weights.matrix(g, "model.language_model.embed_tokens.weight");
    const Builder::Rotation rotation = g.rotary_table(positions, rotary_axis(c), inverse_frequency(c));
    Value x = g.scatter_rows(g.embedding(ids, embedding), visual);
    g.tap("embedded", x);
    g.stage("decoder");
    for (std::size_t layer = 0; layer < c.num_hidden_layers; ++layer) {
        x = decoder_layer(g, c, weights, layer, x, rotation);
        if (layer == 0) g.tap("decoder_layer_first", x);
    }
    g.tap("decoder_layer_last", x);
    g.stage("lm_head");
    x = g.rms_norm(g.gather_rows(x, logit_rows), weights.vector(g, "model.language_model.norm.weight"), c.rms_norm_eps);
    g.output("logits", g.linear(x, embedding));
    return std::move(g).finish();
}

}  // namespace inkstone::model::hunyuan_vl
