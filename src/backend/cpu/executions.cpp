// Binds operators to kernels: finds the values' memory at run time and cuts the work into chunks for the pool. How work
// is cut never changes a result (each row depends on that row alone), only how evenly threads are busy.
#include "backend/cpu/executions.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "backend/cpu/execution_support.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/linear_execution.h"
#include "ops/embedding/embedding.h"
#include "ops/frame_rows/frame_rows.h"
#include "ops/gather_rows/gather_rows.h"
#include "ops/insert_newlines/insert_newlines.h"
#include "ops/interpolate_positions/interpolate_positions.h"
#include "ops/kv_store/kv_store.h"
#include "ops/merge_patches/merge_patches.h"
#include "ops/rotary_table/rotary_table.h"
#include "ops/scatter_rows/scatter_rows.h"

namespace inkstone::backend::cpu {
namespace {

using ops::Operand;
using ops::Operator;

// Query rows of attention that share one pass over the cached blocks.
constexpr std::size_t kQueryRowsPerChunk = 48;
// Widest row that a norm writes as bf16: it waits on the stack to be rounded.
constexpr std::size_t kWidestRounded = 16384;

struct Maker {
    const Operator& op;
    const KernelTable& kernels;
    ThreadPool& pool;

    const Operand& in(std::size_t index = 0) const { return op.inputs[index]; }
    const Operand& out(std::size_t index = 0) const { return op.outputs[index]; }

    std::unique_ptr<Execution> operator()(const ops::Linear&) const { return make_linear(op, kernels, pool); }

    // A norm of the rows of x, `groups` of them in each; written as bf16 a row passes through a buffer.
    template <class Arguments>
    std::unique_ptr<Execution> norm(void (*kernel)(const Arguments&, std::size_t, std::size_t), const Arguments& bound,
                                    std::size_t groups) const {
        return wrap([bound, groups, x = in(), y = out(), kernel, round = kernels.round_bf16,
                     &pool = pool](const RunContext& context) {
            Arguments arguments = bound;
            arguments.x = memory<const float>(context, x);
            if (y.type == ops::ElementType::f32) {
                arguments.y = memory<float>(context, y);
                arguments.rows = rows(context, x) * groups;
                return share(pool, arguments.rows, arguments.width,
                             [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
            }
            return share(pool, rows(context, x), x.width, [&](std::size_t first, std::size_t end) {
                alignas(64) float buffer[kWidestRounded];
                const std::size_t stride = ops::row_stride(y.type, y.width);
                Arguments row = arguments;
                row.y = buffer;
                row.rows = groups;
                for (std::size_t r = first; r < end; ++r) {
                    row.x = arguments.x + r * x.width;
                    kernel(row, 0, groups);
                    round({buffer, memory<std::uint16_t>(context, y) + r * stride, 1, x.width, x.width, stride}, 0, 1);
                }
            });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::RmsNorm& parameters) const {
        ops::rms_norm::Arguments bound;
        bound.weight = op.vectors[0];
        bound.epsilon = parameters.epsilon;
        bound.width = in().width / parameters.groups;
        return norm(kernels.rms_norm, bound, parameters.groups);
    }

    std::unique_ptr<Execution> operator()(const ops::LayerNorm& parameters) const {
        ops::layer_norm::Arguments bound;
        bound.weight = op.vectors[0];
        bound.bias = op.vectors[1];
        bound.epsilon = parameters.epsilon;
        bound.width = in().width;
        return norm(kernels.layer_norm, bound, 1);
    }

    std::unique_ptr<Execution> operator()(const ops::RoundBf16&) const {
        return wrap([x = in(), y = out(), kernel = kernels.round_bf16, &pool = pool](const RunContext& context) {
            ops::round_bf16::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<std::uint16_t>(context, y);
            arguments.rows = rows(context, x);
            arguments.width = arguments.x_stride = x.width;
            arguments.y_stride = ops::row_stride(y.type, y.width);
            return share(pool, arguments.rows, x.width,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::QuantiseRows&) const {
        return wrap([x = in(), y = out(), kernel = kernels.quantise_rows, &pool = pool](const RunContext& context) {
            ops::quantise_rows::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<std::byte>(context, y);
            arguments.row = {x.width, ops::group_of(y.type)};
            arguments.rows = rows(context, x);
            arguments.x_stride = x.width;
            arguments.y_stride = ops::row_stride(y.type, y.width);
            return share(pool, arguments.rows, x.width,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }

    template <class Arguments>
    std::unique_ptr<Execution> two_inputs(void (*kernel)(const Arguments&, std::size_t, std::size_t)) const {
        return wrap([a = in(0), b = in(1), y = out(), kernel, &pool = pool](const RunContext& context) {
            Arguments arguments;
            arguments.a = memory<const float>(context, a);
            arguments.b = memory<const float>(context, b);
            arguments.y = memory<float>(context, y);
            arguments.count = rows(context, y) * y.width;
            return share(pool, arguments.count, 1,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }
    std::unique_ptr<Execution> operator()(const ops::Add&) const { return two_inputs(kernels.add); }
    std::unique_ptr<Execution> operator()(const ops::Multiply&) const { return two_inputs(kernels.multiply); }

    template <class Arguments>
    std::unique_ptr<Execution> one_input(void (*kernel)(const Arguments&, std::size_t, std::size_t)) const {
        return wrap([x = in(), y = out(), kernel, &pool = pool](const RunContext& context) {
            Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.count = rows(context, y) * y.width;
            return share(pool, arguments.count, 1,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }
    std::unique_ptr<Execution> operator()(const ops::Silu&) const { return one_input(kernels.silu); }
    std::unique_ptr<Execution> operator()(const ops::Gelu&) const { return one_input(kernels.gelu); }

    std::unique_ptr<Execution> operator()(const ops::RotaryTable& parameters) const {
        return wrap([parameters, positions = in(), cosine = out(0), sine = out(1),
                     &pool = pool](const RunContext& context) {
            ops::rotary_table::Arguments arguments;
            arguments.positions = memory<const std::int32_t>(context, positions);
            arguments.axis = parameters.axis.data();
            arguments.inverse_frequency = parameters.inverse_frequency.data();
            arguments.cosine = memory<float>(context, cosine);
            arguments.sine = memory<float>(context, sine);
            arguments.rows = rows(context, positions);
            arguments.head_dim = parameters.axis.size();
            arguments.position_stride = arguments.rows;
            constexpr std::size_t kCostOfSine = 16;  // in units of an addition
            return share(pool, arguments.rows, arguments.head_dim * kCostOfSine,
                         [&](std::size_t first, std::size_t end) { ops::rotary_table::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::RotateHalf& parameters) const {
        ops::rms_norm::Arguments norm;
        norm.weight = parameters.norm_epsilon ? op.vectors[0] : nullptr;
        norm.epsilon = parameters.norm_epsilon.value_or(0);
        norm.width = in(1).width;
        return wrap([norm, heads = parameters.heads, x = in(0), cosine = in(1), sine = in(2), y = out(),
                     &kernels = kernels, &pool = pool](const RunContext& context) {
            ops::rotate_half::Arguments rotation;
            rotation.x = memory<const float>(context, x);
            rotation.y = memory<float>(context, y);
            rotation.cosine = memory<const float>(context, cosine);
            rotation.sine = memory<const float>(context, sine);
            rotation.rows = rows(context, x);
            rotation.heads = heads;
            rotation.head_dim = cosine.width;
            return share(pool, rotation.rows, x.width, [&](std::size_t first, std::size_t end) {
                kernels.rotate_half(rotation, first, end);
                if (norm.weight == nullptr) return;
                ops::rms_norm::Arguments each_head = norm;  // in place, while the rows are in the cache
                each_head.x = each_head.y = rotation.y;
                each_head.rows = rotation.rows * heads;
                kernels.rms_norm(each_head, first * heads, end * heads);
            });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::Attention& parameters) const {
        return wrap([parameters, q = in(0), k = in(1), v = in(2), y = out(), &kernels = kernels,
                     &pool = pool](const RunContext& context) {
            const KvView& kv = context.kv;
            const std::size_t count = rows(context, q);
            ops::kv_store::Arguments store;
            store.k = memory<const float>(context, k);
            store.v = memory<const float>(context, v);
            store.blocks = kv.blocks;
            store.row_sequence = kv.row_sequence;
            store.row_position = kv.row_position;
            store.rows = count;
            store.block_offset = kv.layout.layer_offset(parameters.layer);
            store.layout = kv.layout;
            // Whole groups of 16 rows: neighbours write neighbouring lanes.
            const std::size_t groups = (count + 15) / 16;
            if (!share(pool, groups, 16 * (k.width + v.width), [&](std::size_t first, std::size_t end) {
                    ops::kv_store::run(store, first * 16, std::min(count, end * 16));
                }))
                return false;

            // How keys and values are stored says in which arithmetic they are read.
            const auto attend = [&](auto arguments, auto kernel) {
                arguments.q = memory<const float>(context, q);
                arguments.y = memory<float>(context, y);
                arguments.blocks = kv.blocks;
                arguments.row_sequence = kv.row_sequence;
                arguments.row_visible = kv.row_visible;
                arguments.rows = count;
                arguments.heads = parameters.heads;
                arguments.block_offset = store.block_offset;
                arguments.layout = kv.layout;
                arguments.scale = parameters.scale;
                const std::size_t row_chunks = (count + kQueryRowsPerChunk - 1) / kQueryRowsPerChunk;
                // Heads outside, so that neighbours in time read the same keys and values.
                return pool.run(row_chunks * kv.layout.kv_heads, [&](std::size_t item) {
                    const std::size_t head = item / row_chunks, row = item % row_chunks * kQueryRowsPerChunk;
                    kernel(arguments, row, std::min(count, row + kQueryRowsPerChunk), head, head + 1);
                });
            };
            return kv.layout.storage == tensor::KvStorage::bf16
                       ? attend(ops::attention_bf16::Arguments{}, kernels.attention_bf16)
                       : attend(ops::attention::Arguments{}, kernels.attention);
        });
    }

    std::unique_ptr<Execution> operator()(const ops::Embedding&) const {
        return wrap([table = op.matrices[0], ids = in(), y = out(), &pool = pool](const RunContext& context) {
            ops::embedding::Arguments arguments;
            arguments.ids = memory<const std::int32_t>(context, ids);
            arguments.y = memory<float>(context, y);
            arguments.table = table;
            arguments.rows = rows(context, ids);
            return share(pool, arguments.rows, y.width * 8,
                         [&](std::size_t first, std::size_t end) { ops::embedding::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::ScatterRows&) const {
        return wrap([x = in(0), source = in(1), y = out(), &pool = pool](const RunContext& context) {
            ops::scatter_rows::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.source = memory<const float* const>(context, source);
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, x);
            arguments.width = x.width;
            return share(pool, arguments.rows, x.width,
                         [&](std::size_t first, std::size_t end) { ops::scatter_rows::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::GatherRows&) const {
        return wrap([x = in(0), index = in(1), y = out(), &pool = pool](const RunContext& context) {
            ops::gather_rows::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.index = memory<const std::uint32_t>(context, index);
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, y);
            arguments.width = x.width;
            return share(pool, arguments.rows, x.width,
                         [&](std::size_t first, std::size_t end) { ops::gather_rows::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::InterpolatePositions& parameters) const {
        return wrap([edge = parameters.edge, table = op.vectors[0], x = in(), y = out(),
                     &pool = pool](const RunContext& context) {
            ops::interpolate_positions::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.table = table;
            arguments.y = memory<float>(context, y);
            arguments.grid_height = context.grid.height;
            arguments.grid_width = context.grid.width;
            arguments.edge = edge;
            arguments.width = x.width;
            return share(pool, rows(context, x), x.width * 4, [&](std::size_t first, std::size_t end) {
                ops::interpolate_positions::run(arguments, first, end);
            });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::MergePatches& parameters) const {
        return wrap([merge = parameters.merge, x = in(), y = out(), &pool = pool](const RunContext& context) {
            ops::merge_patches::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.grid_height = context.grid.height;
            arguments.grid_width = context.grid.width;
            arguments.width = x.width;
            arguments.merge = merge;
            return share(pool, rows(context, y), y.width,
                         [&](std::size_t first, std::size_t end) { ops::merge_patches::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::InsertNewlines&) const {
        return wrap([newline = op.vectors[0], x = in(), y = out(), &pool = pool](const RunContext& context) {
            ops::insert_newlines::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.newline = newline;
            arguments.y = memory<float>(context, y);
            arguments.lines = rows(context, y) - rows(context, x);
            arguments.columns = arguments.lines == 0 ? 0 : rows(context, x) / arguments.lines;
            arguments.width = x.width;
            return share(pool, arguments.lines, (arguments.columns + 1) * x.width,
                         [&](std::size_t first, std::size_t end) { ops::insert_newlines::run(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::FrameRows&) const {
        return wrap([begin = op.vectors[0], end_row = op.vectors[1], x = in(), y = out(),
                     &pool = pool](const RunContext& context) {
            ops::frame_rows::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.begin = begin;
            arguments.end = end_row;
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, x);
            arguments.width = x.width;
            return share(pool, rows(context, y), x.width,
                         [&](std::size_t first, std::size_t end) { ops::frame_rows::run(arguments, first, end); });
        });
    }
};

// Which operators read and write bf16 and quantised rows, and how wide.
Status check_types(const Operator& operation) {
    const auto refuse = [&](std::string message) {
        return Error{ErrorCode::unsupported, "prepare", std::string(ops::name_of(operation.parameters)),
                     std::move(message) + "; choose precision f32"};
    };
    const bool product = std::holds_alternative<ops::Linear>(operation.parameters);
    const bool norm = std::holds_alternative<ops::RmsNorm>(operation.parameters) ||
                      std::holds_alternative<ops::LayerNorm>(operation.parameters);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i)
        if (operation.inputs[i].type == ops::ElementType::bf16 && !(product && i == 0))
            return refuse("input " + std::to_string(i) + " is bf16, expected f32");
    const bool quantises = std::holds_alternative<ops::QuantiseRows>(operation.parameters);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i)
        if (ops::group_of(operation.inputs[i].type) != 0 && !(product && i == 0))
            return refuse("input " + std::to_string(i) + " is int8, expected f32");
    for (const Operand& output : operation.outputs)
        if ((ops::group_of(output.type) != 0) != quantises)
            return refuse(quantises ? "the output is not int8, expected int8" : "the output is int8, expected f32");
    for (const Operand& output : operation.outputs) {
        if (output.type != ops::ElementType::bf16) continue;
        if (!product && !norm && !std::holds_alternative<ops::RoundBf16>(operation.parameters))
            return refuse("the output is bf16, expected f32");
        if (norm && output.width > kWidestRounded)
            return refuse("a row of " + std::to_string(output.width) +
                          " elements is written as bf16, expected at most " + std::to_string(kWidestRounded));
    }
    if (product && operation.inputs[0].type == ops::ElementType::bf16)
        for (const tensor::PackedMatrix& matrix : operation.matrices)
            if (matrix.format != tensor::WeightFormat::bf16)
                return refuse("the input is bf16 and a matrix is not, expected bf16 for both");
    if (product)
        for (const tensor::PackedMatrix& matrix : operation.matrices) {
            const std::size_t found = ops::group_of(operation.inputs[0].type);
            const std::size_t expected = tensor::is_quantised(matrix.format) ? matrix.quantisation.group : 0;
            if (found != expected || (expected == 0 && tensor::is_quantised(matrix.format)))
                return refuse("the input's groups are of " + std::to_string(found) + " and a matrix's of " +
                              std::to_string(expected) +
                              ", expected the same, 64 or 32, or a matrix of f32, bf16 or f16");
        }
    return {};
}

}  // namespace

Result<std::unique_ptr<Execution>> make_execution(const Operator& operation, const KernelTable& kernels,
                                                  ThreadPool& pool) {
    INKSTONE_CHECK(check_types(operation));
    return std::visit(Maker{operation, kernels, pool}, operation.parameters);
}

}  // namespace inkstone::backend::cpu
