// Names of operators.
#include "ops/operators.h"

namespace inkstone::ops {
namespace {

struct Name {
    std::string_view operator()(const Linear&) const { return "linear"; }
    std::string_view operator()(const RmsNorm&) const { return "rms_norm"; }
    std::string_view operator()(const LayerNorm&) const { return "layer_norm"; }
    std::string_view operator()(const Add&) const { return "add"; }
    std::string_view operator()(const Multiply&) const { return "multiply"; }
    std::string_view operator()(const Silu&) const { return "silu"; }
    std::string_view operator()(const Gelu&) const { return "gelu"; }
    std::string_view operator()(const RoundBf16&) const { return "round_bf16"; }
    std::string_view operator()(const QuantiseRows&) const { return "quantise_rows"; }
    std::string_view operator()(const RotaryTable&) const { return "rotary_table"; }
    std::string_view operator()(const RotateHalf&) const { return "rotate_half"; }
    std::string_view operator()(const Attention&) const { return "attention"; }
    std::string_view operator()(const Embedding&) const { return "embedding"; }
    std::string_view operator()(const ScatterRows&) const { return "scatter_rows"; }
    std::string_view operator()(const GatherRows&) const { return "gather_rows"; }
    std::string_view operator()(const InterpolatePositions&) const { return "interpolate_positions"; }
    std::string_view operator()(const MergePatches&) const { return "merge_patches"; }
    std::string_view operator()(const InsertNewlines&) const { return "insert_newlines"; }
    std::string_view operator()(const FrameRows&) const { return "frame_rows"; }
};

}  // namespace

std::string_view name_of(const Parameters& parameters) { return std::visit(Name{}, parameters); }

}  // namespace inkstone::ops
