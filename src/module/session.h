// The executor of a module: plans per number of rows and one arena. It holds no sequence: a run takes rows of any
// number of sequences. One run at a time; several sessions of one module may run at once only on different backends.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "module/module.h"
#include "module/plan.h"

namespace inkstone::module {

class Session {
public:
    // taps: names of values that must survive a run, for validation; unknown names are an error.
    static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Module> module,
                                                   const std::vector<std::string>& taps = {});

    // Most rows of tokens in one run: longer inputs are cut into chunks of this by the caller.
    static constexpr std::size_t kMaximumTokenRows = 512;

    // Says where an input of the graph lies; borrowed until the next run has ended.
    void bind(graph::Value input, const void* data) { values_[input.index] = const_cast<void*>(data); }

    // Makes the plan and the arena for runs of up to these rows, so that such runs allocate nothing.
    Status reserve(const RowCounts& rows);

    // Gives the arena back; the next run takes a new one. Values of earlier runs are gone.
    void release_arena() { arena_.reset(); }

    // Runs the graph. Every input is bound; rows of class token are at most kMaximumTokenRows.
    // Errors: out_of_memory, cancelled; either leaves the session usable.
    Status run(const RowCounts& rows, const backend::KvView& kv, backend::Grid grid);

    // The memory of an output or a tap after a run: [rows, width]. Valid until the next run.
    float* value(graph::Value value) const { return static_cast<float*>(values_[value.index]); }

    // Milliseconds that each stage of the graph has taken in all runs so far; a stage that the graph lacks took none.
    double stage_ms(std::string_view stage) const;

    const Module& module() const { return *module_; }
    std::size_t arena_bytes() const { return arena_ ? arena_->bytes() : 0; }
    // The arena that a run of these rows needs.
    std::size_t planned_bytes(const RowCounts& rows) const;

private:
    explicit Session(std::shared_ptr<const Module> module);
    Result<const Plan*> plan_for(const RowCounts& rows);

    std::shared_ptr<const Module> module_;
    std::vector<graph::Value> keep_;
    std::vector<Plan> plans_;  // most recently used last
    std::unique_ptr<backend::Memory> arena_;
    std::vector<void*> values_;
    std::vector<double> stage_ms_;  // by stage
};

}  // namespace inkstone::module
