// Products cut into items for the pool. An item is some rows times some tiles of 64 outputs; the tiles of all matrices
// stand in one list, so that several products of one input are one job: one barrier, and the rows of the input are read
// from the cache. An epilogue is applied to a block of outputs that fits the second-level cache, by the element-wise
// kernels themselves: a product of its own and its epilogue after it give the same bits.
#include "backend/cpu/linear_execution.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "backend/cpu/execution_support.h"
#include "backend/cpu/kernel_table.h"

namespace inkstone::backend::cpu {
namespace {

using ops::ElementType;
using ops::Epilogue;
using ops::Operand;
using tensor::kTileOutputs;

// Rows that share one pass over a tile.
constexpr std::size_t kRowsPerItem = 192;
// Rows of an item are a multiple of this where there are enough: whole register blocks of every kernel.
constexpr std::size_t kRowMultiple = 12;
// Neighbouring tiles of an item: the end of one prefetches the beginning of the next.
constexpr std::size_t kTilesPerItem = 4;
// With few rows the weights are the work, and each thread takes long stretches of them.
constexpr std::size_t kFewRows = 16;
// Items for each thread, so that none waits long for the last.
constexpr std::size_t kItemsPerThread = 8;
// Outputs that wait for their epilogue: of kRowsPerItem rows and one tile, or of few rows and many tiles.
constexpr std::size_t kBlockFloats = kRowsPerItem * kTileOutputs;

// A range of rows or tiles.
struct Range {
    std::size_t first = 0, end = 0;
    std::size_t count() const { return end - first; }
};

// How rows times tiles become items. Results do not depend on it.
struct Division {
    std::size_t rows = 0, tiles = 0;            // of the whole job
    std::size_t row_chunk = 1, tile_chunk = 1;  // of an item

    Division(std::size_t row_count, std::size_t tile_count, std::size_t threads) : rows(row_count), tiles(tile_count) {
        if (rows <= kFewRows) {
            row_chunk = std::max<std::size_t>(rows, 1);
            tile_chunk = std::max<std::size_t>(1, tiles / (threads * kItemsPerThread));
            return;
        }
        const std::size_t chunks = (rows + kRowsPerItem - 1) / kRowsPerItem;
        row_chunk = ((rows + chunks - 1) / chunks + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
        tile_chunk = std::clamp<std::size_t>(tiles * row_chunks() / (threads * kItemsPerThread), 1, kTilesPerItem);
    }

    std::size_t row_chunks() const { return (rows + row_chunk - 1) / row_chunk; }
    std::size_t tile_chunks() const { return (tiles + tile_chunk - 1) / tile_chunk; }
    std::size_t items() const { return row_chunks() * tile_chunks(); }
    // Items of the same rows stand together, so that the input stays in the cache.
    Range item_rows(std::size_t item) const {
        const std::size_t first = item / tile_chunks() * row_chunk;
        return {first, std::min(rows, first + row_chunk)};
    }
    Range item_tiles(std::size_t item) const {
        const std::size_t first = item % tile_chunks() * tile_chunk;
        return {first, std::min(tiles, first + tile_chunk)};
    }
};

// One matrix with its bias.
struct Product {
    tensor::PackedMatrix weight;
    const float* bias = nullptr;

    Range outputs(Range tiles) const {
        return {tiles.first * kTileOutputs, std::min(weight.outputs, tiles.end * kTileOutputs)};
    }
};

class LinearExecution final : public Execution {
public:
    LinearExecution(const ops::Operator& operation, const KernelTable& kernels, ThreadPool& pool)
        : epilogue_(std::get<ops::Linear>(operation.parameters).epilogue),
          inputs_(operation.inputs),
          outputs_(operation.outputs),
          kernels_(kernels),
          pool_(pool) {
        for (std::size_t i = 0; i < operation.matrices.size(); ++i)
            products_.push_back({operation.matrices[i], operation.vectors.empty() ? nullptr : operation.vectors[i]});
        // Both matrices of silu_multiply give one block.
        for (const Product& product : products_)
            if (epilogue_ != Epilogue::silu_multiply || tiles_ == 0) tiles_ += product.weight.tiles();
    }

    bool run(const RunContext& context) const override {
        const std::size_t row_count = rows(context, inputs_[0]);
        if (row_count == 0) return !pool_.cancelled();
        const Division division(row_count, tiles_, static_cast<std::size_t>(pool_.threads()));
        return pool_.run(division.items(), [&](std::size_t item) {
            const Range item_rows = division.item_rows(item);
            Range left = division.item_tiles(item);
            std::size_t before = 0;  // tiles of earlier matrices
            for (std::size_t i = 0; i < products_.size() && left.first < left.end; ++i) {
                const std::size_t end = before + products_[i].weight.tiles();
                if (left.first < end) {
                    const Range part{left.first - before, std::min(left.end, end) - before};
                    run_part(context, i, item_rows, part);
                    left.first = before + part.end;
                }
                before = end;
            }
        });
    }

private:
    // Some tiles of one output: straight into its memory, or in blocks that something is still done to.
    void run_part(const RunContext& context, std::size_t output, Range item_rows, Range tiles) const {
        const Operand& y = outputs_[output];
        if (epilogue_ == Epilogue::none && y.type == ElementType::f32) {
            const std::size_t first = item_rows.first * y.width + products_[output].outputs(tiles).first;
            multiply(context, products_[output], item_rows, tiles, memory<float>(context, y) + first, y.width);
            return;
        }
        const std::size_t step = std::max<std::size_t>(1, kBlockFloats / (item_rows.count() * kTileOutputs));
        for (; tiles.first < tiles.end; tiles.first += step)
            run_block(context, output, item_rows, {tiles.first, std::min(tiles.end, tiles.first + step)});
    }

    // The product's outputs of these rows and tiles, written from y on.
    void multiply(const RunContext& context, const Product& product, Range item_rows, Range tiles, float* y,
                  std::size_t y_stride) const {
        const Operand& x = inputs_[0];
        const auto run_kernel = [&](auto part, auto kernel, auto* input) {
            const Range columns = product.outputs(tiles);
            part.x_stride = ops::row_stride(x.type, x.width);
            part.x = input + item_rows.first * part.x_stride;
            part.y = y;
            part.y_stride = y_stride;
            part.weight = product.weight;
            part.weight.data = product.weight.tile(tiles.first);
            part.weight.outputs = columns.count();
            part.bias = product.bias == nullptr ? nullptr : product.bias + columns.first;
            part.rows = item_rows.count();
            kernel(part, 0, part.rows, 0, tiles.count());
        };
        if (x.type == ElementType::bf16)
            run_kernel(ops::linear_bf16::Arguments{}, kernels_.linear_bf16, memory<const std::uint16_t>(context, x));
        else if (ops::group_of(x.type) != 0)
            run_kernel(ops::linear_int8::Arguments{}, kernels_.linear_int8, memory<const std::byte>(context, x));
        else
            run_kernel(ops::linear::Arguments{}, kernels_.linear, memory<const float>(context, x));
    }

    // A block waits on the stack for its epilogue, then goes to its memory.
    void run_block(const RunContext& context, std::size_t output, Range item_rows, Range tiles) const {
        alignas(64) float block[kBlockFloats];
        const Range columns = products_[output].outputs(tiles);
        const std::size_t width = columns.count(), count = item_rows.count() * width;
        assert(count <= kBlockFloats);
        multiply(context, products_[output], item_rows, tiles, block, width);
        switch (epilogue_) {
            case Epilogue::none:
                break;
            case Epilogue::gelu:
                kernels_.gelu({block, block, count}, 0, count);
                break;
            case Epilogue::add: {
                const std::size_t stride = inputs_[1].width;
                const float* other =
                    memory<const float>(context, inputs_[1]) + item_rows.first * stride + columns.first;
                for (std::size_t row = 0; row < item_rows.count(); ++row) {
                    float* sums = block + row * width;
                    kernels_.add({other + row * stride, sums, sums, width}, 0, width);
                }
                break;
            }
            case Epilogue::silu_multiply: {
                alignas(64) float up[kBlockFloats];
                multiply(context, products_[1], item_rows, tiles, up, width);
                kernels_.silu({block, block, count}, 0, count);
                kernels_.multiply({block, up, block, count}, 0, count);
                break;
            }
        }
        const Operand& y = outputs_[output];
        const std::size_t stride = ops::row_stride(y.type, y.width), first = item_rows.first * stride + columns.first;
        if (y.type == ElementType::bf16) {
            auto* to = memory<std::uint16_t>(context, y) + first;
            kernels_.round_bf16({block, to, item_rows.count(), width, width, stride}, 0, item_rows.count());
            return;
        }
        float* to = memory<float>(context, y) + first;
        for (std::size_t row = 0; row < item_rows.count(); ++row)
            std::memcpy(to + row * stride, block + row * width, width * sizeof(float));
    }

    Epilogue epilogue_;
    std::vector<Operand> inputs_, outputs_;
    std::vector<Product> products_;
    std::size_t tiles_ = 0;  // of one job
    const KernelTable& kernels_;
    ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Execution> make_linear(const ops::Operator& operation, const KernelTable& kernels, ThreadPool& pool) {
    return std::make_unique<LinearExecution>(operation, kernels, pool);
}

}  // namespace inkstone::backend::cpu
