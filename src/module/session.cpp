// Rows are rounded up to a bucket, so that few plans serve every run; image sizes are planned exactly.
#include "module/session.h"

#include <algorithm>
#include <utility>

namespace inkstone::module {
namespace {

constexpr std::size_t kBuckets[] = {0, 1, 16, 64, 256, Session::kMaximumTokenRows};
constexpr std::size_t kPlansKept = 16;

std::size_t bucket(std::size_t rows) {
    for (const std::size_t size : kBuckets)
        if (rows <= size) return size;
    return rows;
}

RowCounts bucketed(RowCounts rows) {
    for (const auto kind : {ops::Rows::token, ops::Rows::logit})
        rows[static_cast<std::size_t>(kind)] = bucket(rows[static_cast<std::size_t>(kind)]);
    return rows;
}

}  // namespace

Session::Session(std::shared_ptr<const Module> module)
    : module_(std::move(module)),
      values_(module_->graph().values.size(), nullptr),
      stage_ms_(module_->graph().stages.size(), 0) {
    plans_.reserve(kPlansKept);
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Module> module,
                                                 const std::vector<std::string>& taps) {
    std::unique_ptr<Session> session(new Session(std::move(module)));
    for (const std::string& name : taps) {
        const auto found = session->module_->graph().taps.find(name);
        if (found == session->module_->graph().taps.end())
            return Error{ErrorCode::not_found, "create session", name, "the graph has no tap of this name"};
        session->keep_.push_back(found->second);
    }
    return session;
}

std::size_t Session::planned_bytes(const RowCounts& rows) const {
    return make_plan(module_->graph(), bucketed(rows), keep_).bytes;
}

Result<const Plan*> Session::plan_for(const RowCounts& rows) {
    const RowCounts wanted = bucketed(rows);
    const auto found = std::ranges::find(plans_, wanted, &Plan::rows);
    if (found != plans_.end()) {
        std::rotate(found, found + 1, plans_.end());
    } else {
        if (plans_.size() == kPlansKept) plans_.erase(plans_.begin());
        plans_.push_back(make_plan(module_->graph(), wanted, keep_));
    }
    const Plan& plan = plans_.back();
    if (plan.bytes > arena_bytes()) {
        arena_.reset();  // first, so that both are never held at once
        INKSTONE_TRY(arena_, module_->backend().allocate(plan.bytes, "activations"));
    }
    return &plan;
}

double Session::stage_ms(std::string_view stage) const {
    const auto& stages = module_->graph().stages;
    const auto found = std::ranges::find(stages, stage);
    return found == stages.end() ? 0 : stage_ms_[static_cast<std::size_t>(found - stages.begin())];
}

Status Session::reserve(const RowCounts& rows) {
    INKSTONE_TRY([[maybe_unused]] const Plan* plan, plan_for(rows));
    return {};
}

Status Session::run(const RowCounts& rows, const backend::KvView& kv, backend::Grid grid) {
    INKSTONE_TRY(const Plan* plan, plan_for(rows));
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (plan->offsets[i] != kOutside) values_[i] = arena_->data() + plan->offsets[i];
    backend::RunContext context;
    context.values = values_.data();
    context.rows = rows.data();
    context.kv = kv;
    context.grid = grid;
    if (!module_->pipeline().run(context, stage_ms_))
        return Error{ErrorCode::cancelled, "run", "", "the work was cancelled before it was done"};
    return {};
}

}  // namespace inkstone::module
