// Binds operators to kernels: finds the values' memory at run time and cuts the work into chunks for the pool. How work
// is cut never changes a result (each row depends on that row alone), only how evenly threads are busy.
#include "backend/cpu/executions.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "backend/cpu/kernel_table.h"
#include "base/thread_pool.h"
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

// Below this many elements a job is not worth waking the other threads.
constexpr std::size_t kElementsAlone = 16384;
// A chunk of element-wise work: small enough to cancel within milliseconds and to share evenly.
constexpr std::size_t kElementsPerChunk = 32768;
// Rows of a product that share one pass over a group of weight tiles.
constexpr std::size_t kRowsPerChunk = 192;
constexpr std::size_t kTilesPerChunk = 4;
constexpr std::size_t kFewRows = 16;
// Query rows of attention that share one pass over the cached blocks.
constexpr std::size_t kQueryRowsPerChunk = 48;

template <class Function>
class FunctionExecution final : public Execution {
public:
    explicit FunctionExecution(Function function) : function_(std::move(function)) {}
    bool run(const RunContext& context) const override { return function_(context); }

private:
    Function function_;
};

template <class T>
T* memory(const RunContext& context, const Operand& operand) {
    return static_cast<T*>(context.values[operand.value]);
}

std::size_t rows(const RunContext& context, const Operand& operand) {
    return context.rows[static_cast<std::size_t>(operand.rows)];
}

// Calls work(first, end) over [0, count) items of `elements` each, from all threads when it is worth it.
template <class Work>
bool share(ThreadPool& pool, std::size_t count, std::size_t elements, const Work& work) {
    if (count == 0 || pool.cancelled()) return !pool.cancelled();
    if (count * elements <= kElementsAlone || count == 1) {
        work(std::size_t{0}, count);
        return true;
    }
    const std::size_t even =
        (count + static_cast<std::size_t>(pool.threads()) - 1) / static_cast<std::size_t>(pool.threads());
    const std::size_t chunk = std::clamp<std::size_t>(kElementsPerChunk / std::max<std::size_t>(elements, 1), 1, even);
    return pool.run((count + chunk - 1) / chunk,
                    [&](std::size_t item) { work(item * chunk, std::min(count, (item + 1) * chunk)); });
}

struct Maker {
    const Operator& op;
    const KernelTable& kernels;
    ThreadPool& pool;

    template <class Function>
    static std::unique_ptr<Execution> wrap(Function function) {
        return std::make_unique<FunctionExecution<Function>>(std::move(function));
    }

    const Operand& in(std::size_t index = 0) const { return op.inputs[index]; }
    const Operand& out(std::size_t index = 0) const { return op.outputs[index]; }

    std::unique_ptr<Execution> operator()(const ops::Linear&) const {
        ops::linear::Arguments bound;
        bound.weight = op.matrices[0];
        bound.bias = op.vectors.empty() ? nullptr : op.vectors[0];
        bound.x_stride = in().width;
        bound.y_stride = out().width;
        return wrap([bound, x = in(), y = out(), kernel = kernels.linear, &pool = pool](const RunContext& context) {
            ops::linear::Arguments arguments = bound;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, x);
            if (arguments.rows == 0) return !pool.cancelled();
            const std::size_t tiles = arguments.weight.tiles();
            const auto threads = static_cast<std::size_t>(pool.threads());
            // Few rows: the weights are the work, each thread takes long stretches of them. Many rows: blocks of rows
            // times groups of tiles.
            const bool few = arguments.rows <= kFewRows;
            const std::size_t row_chunk = few ? arguments.rows : kRowsPerChunk;
            const std::size_t tile_chunk =
                few ? std::max<std::size_t>(1, tiles / (threads * 8)) : std::min(tiles, kTilesPerChunk);
            const std::size_t row_chunks = (arguments.rows + row_chunk - 1) / row_chunk;
            const std::size_t tile_chunks = (tiles + tile_chunk - 1) / tile_chunk;
            return pool.run(row_chunks * tile_chunks, [&](std::size_t item) {
                const std::size_t row = item / tile_chunks * row_chunk, tile = item % tile_chunks * tile_chunk;
                kernel(arguments, row, std::min(arguments.rows, row + row_chunk), tile,
                       std::min(tiles, tile + tile_chunk));
            });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::RmsNorm& parameters) const {
        ops::rms_norm::Arguments bound;
        bound.weight = op.vectors[0];
        bound.epsilon = parameters.epsilon;
        bound.width = in().width / parameters.groups;
        return wrap([bound, groups = parameters.groups, x = in(), y = out(), kernel = kernels.rms_norm,
                     &pool = pool](const RunContext& context) {
            ops::rms_norm::Arguments arguments = bound;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, x) * groups;
            return share(pool, arguments.rows, arguments.width,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::LayerNorm& parameters) const {
        ops::layer_norm::Arguments bound;
        bound.weight = op.vectors[0];
        bound.bias = op.vectors[1];
        bound.epsilon = parameters.epsilon;
        bound.width = in().width;
        return wrap([bound, x = in(), y = out(), kernel = kernels.layer_norm, &pool = pool](const RunContext& context) {
            ops::layer_norm::Arguments arguments = bound;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.rows = rows(context, x);
            return share(pool, arguments.rows, arguments.width,
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
        return wrap([heads = parameters.heads, x = in(0), cosine = in(1), sine = in(2), y = out(),
                     kernel = kernels.rotate_half, &pool = pool](const RunContext& context) {
            ops::rotate_half::Arguments arguments;
            arguments.x = memory<const float>(context, x);
            arguments.y = memory<float>(context, y);
            arguments.cosine = memory<const float>(context, cosine);
            arguments.sine = memory<const float>(context, sine);
            arguments.rows = rows(context, x);
            arguments.heads = heads;
            arguments.head_dim = cosine.width;
            return share(pool, arguments.rows, x.width,
                         [&](std::size_t first, std::size_t end) { kernel(arguments, first, end); });
        });
    }

    std::unique_ptr<Execution> operator()(const ops::Attention& parameters) const {
        return wrap([parameters, q = in(0), k = in(1), v = in(2), y = out(), kernel = kernels.attention,
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

            ops::attention::Arguments arguments;
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

}  // namespace

Result<std::unique_ptr<Execution>> make_execution(const Operator& operation, const KernelTable& kernels,
                                                  ThreadPool& pool) {
    return std::visit(Maker{operation, kernels, pool}, operation.parameters);
}

}  // namespace inkstone::backend::cpu
