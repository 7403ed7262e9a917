// Steps of a token model: rows of one or many sequences through the executor in one pass, weights read once for all.
// What it asks of a model is a graph with the inputs "ids", "positions", "visual" and "logit_rows" and the output
// "logits"; which model that is, it does not know.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "generate/sequence.h"
#include "generate/target.h"
#include "module/session.h"

namespace inkstone::generate {

class Decoder final : public Target {
public:
    // Errors: not_found (an input or output that the graph lacks), those of Session::create.
    static Result<std::unique_ptr<Decoder>> create(std::shared_ptr<const module::Module> module,
                                                   const std::vector<std::string>& taps = {});

    static constexpr std::size_t kMaximumRows = module::Session::kMaximumTokenRows;

    std::size_t vocabulary() const override { return vocabulary_; }
    std::size_t maximum_rows() const override { return kMaximumRows; }
    module::Session& session() { return *session_; }

    Status reserve(std::size_t tokens, std::size_t logits) override;
    Status step(std::span<const StepRows> batch) override;
    std::span<float> logits(std::size_t row) override;

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
