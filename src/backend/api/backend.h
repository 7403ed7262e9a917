// The interface between module/ and a backend: memory, the preparation of one operator, and its run. A backend sees one
// operator at a time and no graph; module/ sees no instruction set and no device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/kv_block.h"

namespace inkstone::ops {
struct Operator;
}

namespace inkstone::backend {

// Memory of a backend, freed with the object. Aligned to 64 bytes at least, zeroed.
class Memory {
public:
    virtual ~Memory() = default;
    virtual std::byte* data() const = 0;
    virtual std::size_t bytes() const = 0;
};

// Cached keys and values as a run sees them: which pages, and for each token row where it stands and what it sees.
struct KvView {
    tensor::KvLayout layout;
    std::byte* const* const* blocks = nullptr;    // blocks[s][b]: page b of sequence s
    const std::uint32_t* row_sequence = nullptr;  // [rows]; rows of one sequence stand together
    const std::uint32_t* row_position = nullptr;  // [rows]
    const std::uint32_t* row_visible = nullptr;   // [rows]: positions 0 .. visible - 1 are seen
};

// An image's grid in patches.
struct Grid {
    std::size_t height = 0, width = 0;
};

// What an execution reads at run time. Everything is borrowed for the length of the run.
struct RunContext {
    void* const* values = nullptr;      // memory of each value, by its number in the plan
    const std::size_t* rows = nullptr;  // rows of each class (ops::Rows)
    KvView kv;
    Grid grid;
};

// One operator, ready to run. Immutable; a run allocates nothing.
class Execution {
public:
    virtual ~Execution() = default;
    // False when the work was cancelled part way.
    virtual bool run(const RunContext& context) const = 0;
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual std::string_view name() const = 0;             // "cpu"
    virtual std::string_view instruction_set() const = 0;  // "avx2", ...
    virtual int threads() const = 0;

    // Errors: out_of_memory, with the number of bytes and `purpose`.
    virtual Result<std::unique_ptr<Memory>> allocate(std::size_t bytes, std::string_view purpose) = 0;

    // Errors: unsupported, naming the operator. Weights named in `operation` must outlive the execution.
    virtual Result<std::unique_ptr<Execution>> prepare(const ops::Operator& operation) = 0;

    // Runs work(item) for items in [0, count) on the backend's host threads: for packing weights. False when cancelled.
    virtual bool parallel(std::size_t count, void (*work)(void* context, std::size_t item), void* context) = 0;

    // Both are looked at between chunks of work, whoever sets them (a caller, a deadline); null for none. Not to be
    // changed while anything runs.
    virtual void set_cancel(const std::atomic<bool>* cancel, const std::atomic<bool>* expired = nullptr) = 0;
};

}  // namespace inkstone::backend
