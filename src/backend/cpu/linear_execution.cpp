// Products cut into items for the pool. An item is some rows times some tiles of 64 outputs; the tiles of all matrices
// stand in one list, so that several products of one input are one job: one barrier, and the rows of the input are read
// from the cache. An epilogue is applied to a block of outputs that fits the second-level cache, by the element-wise
// kernels themselves: a product of its own and its epilogue after it give the same bits.
#include "backend/cpu/linear_execution.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "backend/cpu/execution_support.h"
#include "backend/cpu/kernel_table.h"

namespace inkstone::backend::cpu {
namespace {

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
            if (epilogue_ != Epilogue::none) {
                const std::size_t step = std::max<std::size_t>(1, kBlockFloats / (item_rows.count() * kTileOutputs));
                for (; left.first < left.end; left.first += step)
                    run_block(context, item_rows, {left.first, std::min(left.end, left.first + step)});
                return;
            }
            std::size_t before = 0;  // tiles of earlier matrices
            for (std::size_t i = 0; i < products_.size() && left.first < left.end; ++i) {
                const std::size_t end = before + products_[i].weight.tiles();
                const Range part{left.first - before, std::min(left.end, end) - before};
                if (left.first < end) {
                    const Range columns = products_[i].outputs(part);
                    const std::size_t stride = outputs_[i].width;
                    multiply(context, products_[i], item_rows, part,
                             memory<float>(context, outputs_[i]) + item_rows.first * stride + columns.first, stride);
                    left.first = before + part.end;
                }
                before = end;
            }
        });
    }

private:
    // The product's outputs of these rows and tiles, written from y on.
    void multiply(const RunContext& context, const Product& product, Range item_rows, Range tiles, float* y,
                  std::size_t y_stride) const {
        const Range columns = product.outputs(tiles);
        ops::linear::Arguments part;
        part.x_stride = inputs_[0].width;
        part.x = memory<const float>(context, inputs_[0]) + item_rows.first * part.x_stride;
        part.y = y;
        part.y_stride = y_stride;
        part.weight = product.weight;
        part.weight.data = product.weight.tile(tiles.first);
        part.weight.outputs = columns.count();
        part.bias = product.bias == nullptr ? nullptr : product.bias + columns.first;
        part.rows = item_rows.count();
        kernels_.linear(part, 0, part.rows, 0, tiles.count());
    }

    // The same with the epilogue: the block waits on the stack.
    void run_block(const RunContext& context, Range item_rows, Range tiles) const {
        alignas(64) float block[kBlockFloats];
        const Range columns = products_[0].outputs(tiles);
        const std::size_t width = columns.count(), y_stride = outputs_[0].width;
        assert(item_rows.count() * width <= kBlockFloats);
        multiply(context, products_[0], item_rows, tiles, block, width);
        const std::size_t first = item_rows.first * y_stride + columns.first;
        float* y = memory<float>(context, outputs_[0]) + first;
        switch (epilogue_) {
            case Epilogue::gelu:
                for (std::size_t row = 0; row < item_rows.count(); ++row)
                    kernels_.gelu({block + row * width, y + row * y_stride, width}, 0, width);
                break;
            case Epilogue::add: {
                const float* residual = memory<const float>(context, inputs_[1]) + first;
                for (std::size_t row = 0; row < item_rows.count(); ++row)
                    kernels_.add({residual + row * y_stride, block + row * width, y + row * y_stride, width}, 0, width);
                break;
            }
            case Epilogue::silu_multiply: {
                alignas(64) float up[kBlockFloats];
                multiply(context, products_[1], item_rows, tiles, up, width);
                const std::size_t count = item_rows.count() * width;
                kernels_.silu({block, block, count}, 0, count);
                for (std::size_t row = 0; row < item_rows.count(); ++row)
                    kernels_.multiply({block + row * width, up + row * width, y + row * y_stride, width}, 0, width);
                break;
            }
            case Epilogue::none:
                break;
        }
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
