// Verification works on the choices of plain decoding, greedy or drawn: position i accepts its candidate when the
// target, given all before it, chooses the same token; the first that differs is replaced by the target's own choice. A
// draw belongs to its position and not to the order of calls, so a block draws what one token a step would have drawn.
#include "generate/generator.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <utility>

namespace inkstone::generate {
namespace {

class Stopwatch {
public:
    explicit Stopwatch(double& total_ms) : total_ms_(total_ms), start_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() {
        total_ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& total_ms_;
    std::chrono::steady_clock::time_point start_;
};

// Positions that are reserved ahead of use; beyond them pages are taken as they are needed.
constexpr std::size_t kReservedAnswer = 4096;

// One answer in the making.
struct Run {
    Target& target;
    Sequence& sequence;
    const GeneratorOptions& options;
    Sampler sampler;
    GeneratorResult result;
    RepetitionGuard guard{};
    std::optional<RepetitionGuard::Loop> loop{};

    // Takes a token that the target chose; says whether generation goes on.
    bool commit(std::int32_t id) {
        result.last_token = id;
        if (std::ranges::find(options.stop_ids, id) != options.stop_ids.end()) {
            result.finish = Finish::stop;
            return false;
        }
        result.ids.push_back(id);
        result.emitted += 1;
        sequence.append(id);
        if (options.on_token && !options.on_token(id)) {
            result.finish = Finish::cancelled;
            return false;
        }
        if (has_ended()) return false;
        if (options.repetition_limits) {
            guard.observe(result.ids);
            loop = guard.loop(options.repetition_limits());
            if (loop) {
                result.finish = Finish::repetition;
                return false;
            }
        }
        if (result.ids.size() == options.max_new_tokens) {
            result.finish = Finish::length;
            return false;
        }
        if (sequence.size() == options.context_length) {
            result.finish = Finish::context_full;
            return false;
        }
        return true;
    }

    // Whether the caller sees an end; then it is the finish.
    bool has_ended() {
        const auto end = options.ended ? options.ended() : std::nullopt;
        if (end) result.finish = *end;
        return end.has_value();
    }

    // The token after what the sequence holds, from a row of logits of its last token.
    Result<std::int32_t> select(std::size_t logit_row) {
        const Stopwatch watch(result.sample_ms);
        return sampler.sample(target.logits(logit_row), sequence.ids());
    }
};

}  // namespace

Result<GeneratorResult> generate(Target& target, Sequence& sequence, Strategy& strategy,
                                 const GeneratorOptions& options) {
    if (sequence.size() > options.context_length || sequence.size() == 0)
        return Error{ErrorCode::context_full, "generate", "prompt",
                     "has " + std::to_string(sequence.size()) + " tokens, expected 1 to " +
                         std::to_string(options.context_length) +
                         " (the model's context); use a smaller picture (max_pixels) or a shorter prompt"};
    INKSTONE_CHECK(check(options, target.vocabulary()));
    Run run{target, sequence, options, Sampler(target.vocabulary(), options, sequence.size()), {}};
    const std::size_t room = options.context_length - sequence.size();
    const std::size_t answer = std::min({options.max_new_tokens, room, kReservedAnswer});
    INKSTONE_CHECK(sequence.reserve(sequence.size() + answer));
    run.result.ids.reserve(answer);
    run.sampler.reserve(sequence.size() + answer);
    std::vector<std::int32_t> candidates;
    candidates.reserve(kMaximumBlock);
    const std::size_t block = strategy.block_size();
    assert(block >= 1 && block <= kMaximumBlock);
    INKSTONE_CHECK(target.reserve(block, block));

    strategy.begin(sequence, sequence.size() + answer);
    Status filled;
    {
        const Stopwatch watch(run.result.prefill_ms);
        std::size_t told = std::min(sequence.cached(), sequence.size() - 1);
        filled = target.prefill(sequence, [&](std::size_t done, std::size_t total) {
            strategy.cached(sequence, told, done - told);
            told = done;
            if (options.on_prefill) options.on_prefill(done, total);
        });
    }
    if (!filled && filled.error().code == ErrorCode::cancelled && run.has_ended()) return std::move(run.result);
    INKSTONE_CHECK(std::move(filled));
    if (options.max_new_tokens == 0 || room == 0) {
        run.result.finish = options.max_new_tokens == 0 ? Finish::length : Finish::context_full;
        return std::move(run.result);
    }
    INKSTONE_TRY(const std::int32_t first, run.select(0));
    bool going = run.commit(first);
    while (going) {
        // Each of the candidates must leave room for the target's own token after it.
        const std::size_t limit = std::min({block - 1, options.max_new_tokens - run.result.ids.size() - 1,
                                            options.context_length - sequence.size() - 1});
        candidates.clear();
        {
            const Stopwatch watch(run.result.draft_ms);
            INKSTONE_CHECK(strategy.propose(sequence, limit, candidates));
        }
        assert(candidates.size() <= limit);
        if (options.cancel && *options.cancel)
            return Error{ErrorCode::cancelled, "generate", "", "the work was cancelled before it was done"};
        const std::size_t known = sequence.size();
        for (const std::int32_t id : candidates) sequence.append(id);
        const StepRows rows{&sequence, 1 + candidates.size(), 1 + candidates.size()};
        Status stepped;
        Verification verification{candidates.size(), 0, 0};
        {
            const Stopwatch watch(verification.step_ms);
            stepped = target.step({&rows, 1});
        }
        sequence.crop(known);  // candidates leave the sequence, also when the step failed
        if (!stepped && stepped.error().code == ErrorCode::cancelled && run.has_ended()) break;
        INKSTONE_CHECK(std::move(stepped));
        run.result.steps += 1;
        run.result.proposed += candidates.size();
        run.result.decode_ms += verification.step_ms;
        if (!candidates.empty()) run.result.verify_ms += verification.step_ms;
        std::size_t& accepted = verification.accepted;
        for (std::size_t i = 0; going && i <= candidates.size(); ++i) {
            INKSTONE_TRY(const std::int32_t id, run.select(i));
            const bool matches = i < candidates.size() && id == candidates[i];
            going = run.commit(id);
            if (!matches) break;
            accepted = sequence.size() - known;  // a stop token is chosen, but not part of the answer
        }
        // Accepted tokens were cached by this very step; the last committed one is not cached yet.
        sequence.set_cached(std::min(known + accepted, sequence.size()));
        run.result.accepted += accepted;
        const Stopwatch watch(run.result.draft_ms);
        strategy.cached(sequence, known - 1, 1 + accepted);
        strategy.committed(sequence, verification);
    }
    run.result.withheld = strategy.withheld();
    if (run.loop) {  // one copy of what was repeated is kept
        const std::size_t surplus = run.loop->tail - run.loop->unit;
        run.result.ids.resize(run.result.ids.size() - surplus);
        sequence.crop(sequence.size() - surplus);
    }
    return std::move(run.result);
}

}  // namespace inkstone::generate
