// Steps of a token model: rows of one or many sequences through the executor in one pass, weights read once for all.
// What it asks of a model is a graph with the inputs "ids", "positions", "visual" and "logit_rows" and the output
// "logits"; which model that is, it does not know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "generate/sequence.h"
#include "module/session.h"

namespace inkstone::generate {

// The next `tokens` uncached tokens of a sequence, and of how many of the last of them the logits are wanted.
struct StepRows {
    Sequence* sequence = nullptr;
    std::size_t tokens = 0;
    std::size_t logits = 0;
};

class Decoder {
public:
    // Errors: not_found (an input or output that the graph lacks), those of Session::create.
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<const module::Module> module,
                                                   const std::vector<std::string>& taps = {});

    // Most tokens of all sequences together in one step.
    static constexpr std::size_t kMaximumRows = module::Session::kMaximumTokenRows;

    std::size_t vocabulary() const { return vocabulary_; }
    module::Session& session() { return *session_; }

    // Runs the rows and caches their keys and values; sequences are distinct, rows at most kMaximumRows together.
    // Allocates nothing once its sequences have room (Sequence::reserve). After an error no sequence has changed.
    // Errors: out_of_memory, cancelled.
    Status step(std::span<const StepRows> batch);

    // Logits of the last step: rows in the order of the batch. May be changed in place. Valid until the next step.
    std::span<float> logits(std::size_t row);

    // Caches all tokens of a sequence (at least one) in chunks; logits(0) are then those of the last token, which runs
    // again when it was cached already. on_chunk(done, total) is called after each chunk. Errors: as step.
    Status prefill(Sequence& sequence, const std::function<void(std::size_t, std::size_t)>& on_chunk = {});

private:
    explicit Decoder(std::unique_ptr<module::Session> session);
    void fill_rows(std::span<const StepRows> batch, std::size_t rows);

    std::unique_ptr<module::Session> session_;
    graph::Value ids_input_, positions_input_, visual_input_, logit_rows_input_, logits_output_;
    std::size_t vocabulary_ = 0, axes_ = 0;
    // One entry per row, sized for kMaximumRows at creation.
    std::vector<std::int32_t> ids_, positions_;
    std::vector<const float*> visual_;
    std::vector<std::uint32_t> row_sequence_, row_position_, row_visible_, logit_rows_;
    std::vector<std::byte* const*> blocks_;  // one entry per sequence
};

}  // namespace inkstone::generate
