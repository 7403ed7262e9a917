// Turns sequences into the row descriptors that attention and the embedding read.
#include "generate/decoder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace inkstone::generate {

Decoder::Decoder(std::unique_ptr<module::Session> session) : session_(std::move(session)) {
    ids_.resize(kMaximumRows);
    visual_.resize(kMaximumRows);
    row_sequence_.resize(kMaximumRows);
    row_position_.resize(kMaximumRows);
    row_visible_.resize(kMaximumRows);
    logit_rows_.resize(kMaximumRows);
    blocks_.resize(kMaximumRows);
}

Result<std::unique_ptr<Decoder>> Decoder::create(std::shared_ptr<const module::Module> module,
                                                 const std::vector<std::string>& taps) {
    const graph::Graph& graph = module->graph();
    INKSTONE_TRY(auto session, module::Session::create(std::move(module), taps));
    std::unique_ptr<Decoder> decoder(new Decoder(std::move(session)));
    const std::pair<const char*, graph::Value*> inputs[] = {{"ids", &decoder->ids_input_},
                                                            {"positions", &decoder->positions_input_},
                                                            {"visual", &decoder->visual_input_},
                                                            {"logit_rows", &decoder->logit_rows_input_}};
    for (const auto& [name, value] : inputs) {
        const auto found = graph.inputs.find(name);
        if (found == graph.inputs.end())
            return Error{ErrorCode::not_found, "create decoder", name, "the graph has no such input"};
        *value = found->second;
    }
    const auto logits = graph.outputs.find("logits");
    if (logits == graph.outputs.end())
        return Error{ErrorCode::not_found, "create decoder", "logits", "the graph has no such output"};
    decoder->logits_output_ = logits->second;
    decoder->vocabulary_ = graph.values[logits->second.index].width;
    decoder->axes_ = graph.values[decoder->positions_input_.index].width;
    decoder->positions_.resize(kMaximumRows * decoder->axes_);
    return decoder;
}

void Decoder::fill_rows(std::span<const StepRows> batch, std::size_t rows) {
    std::size_t row = 0, logit = 0;
    for (std::size_t s = 0; s < batch.size(); ++s) {
        const Sequence& sequence = *batch[s].sequence;
        blocks_[s] = sequence.pages().blocks();
        for (std::size_t i = 0; i < batch[s].tokens; ++i, ++row) {
            const std::size_t token = sequence.cached() + i;
            ids_[row] = sequence.ids()[token];
            visual_[row] = sequence.visual(token);
            for (std::size_t axis = 0; axis < axes_; ++axis)
                positions_[axis * rows + row] = sequence.positions()[token * axes_ + axis];
            row_sequence_[row] = static_cast<std::uint32_t>(s);
            row_position_[row] = static_cast<std::uint32_t>(token);
            row_visible_[row] = static_cast<std::uint32_t>(token + 1);
            if (i + batch[s].logits >= batch[s].tokens) logit_rows_[logit++] = static_cast<std::uint32_t>(row);
        }
    }
}

Status Decoder::reserve(std::size_t tokens, std::size_t logits) {
    module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = tokens;
    rows[static_cast<std::size_t>(ops::Rows::logit)] = logits;
    return session_->reserve(rows);
}

Status Decoder::step(std::span<const StepRows> batch) {
    module::RowCounts rows{};
    std::size_t& tokens = rows[static_cast<std::size_t>(ops::Rows::token)];
    std::size_t& logits = rows[static_cast<std::size_t>(ops::Rows::logit)];
    for (const StepRows& step : batch) {
        assert(step.sequence->axes() == axes_);
        assert(step.sequence->cached() + step.tokens <= step.sequence->size() && step.logits <= step.tokens);
        tokens += step.tokens;
        logits += step.logits;
        INKSTONE_CHECK(step.sequence->pages().reserve(step.sequence->cached() + step.tokens));
    }
    assert(tokens <= kMaximumRows && batch.size() <= kMaximumRows);
    if (tokens == 0) return {};
    fill_rows(batch, tokens);
    session_->bind(ids_input_, ids_.data());
    session_->bind(positions_input_, positions_.data());
    session_->bind(visual_input_, visual_.data());
    session_->bind(logit_rows_input_, logit_rows_.data());
    backend::KvView kv;
    kv.layout = session_->module().graph().kv;
    kv.blocks = blocks_.data();
    kv.row_sequence = row_sequence_.data();
    kv.row_position = row_position_.data();
    kv.row_visible = row_visible_.data();
    INKSTONE_CHECK(session_->run(rows, kv, {}));
    for (const StepRows& step : batch) step.sequence->set_cached(step.sequence->cached() + step.tokens);
    return {};
}

std::span<float> Decoder::logits(std::size_t row) {
    return {session_->value(logits_output_) + row * vocabulary_, vocabulary_};
}

}  // namespace inkstone::generate
