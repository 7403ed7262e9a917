// Every repeat stands between two samples of the limit that it is held against.
#include "runtime/bench_measure.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "image/smart_resize.h"
#include "model/hunyuan_vl/vision.h"
#include "module/operations.h"
#include "runtime/speed.h"

namespace inkstone::runtime {
namespace {

namespace model = model::hunyuan_vl;

constexpr std::size_t kProductRows = 512;  // the most of one run of the decoder
constexpr std::size_t kTokensBetweenSamples = 8;

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    backend::cpu::Samples samples;
    for (const double value : values) samples.add(value);
    return samples.median();
}

MachineSpeed speed_of(const backend::cpu::Samples& samples) {
    return {samples.best(), samples.median(), samples.count()};
}

Error cancelled() { return {ErrorCode::cancelled, "measure", "", "the work was cancelled before it was done"}; }

// Times of single runs, and of the session's stages in each.
class Clock {
public:
    explicit Clock(const inkstone::module::Session* session) : session_(session) {
        if (session_ != nullptr) stages_.resize(session_->module().graph().stages.size());
    }

    template <class Run>
    Status time(const Run& run) {
        const std::vector<double> before = stage_times();
        const double start = now_ms();
        INKSTONE_CHECK(run());
        runs_.push_back(now_ms() - start);
        const std::vector<double> after = stage_times();
        double inside = 0;
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            stages_[i].push_back(after[i] - before[i]);
            inside += after[i] - before[i];
        }
        outside_.push_back(std::max(0.0, runs_.back() - inside));
        return {};
    }

    std::size_t count() const { return runs_.size(); }

    void report(BenchWork& work) const {
        work.repeats = runs_.size();
        work.median_ms = median(runs_);
        work.best_ms = *std::min_element(runs_.begin(), runs_.end());
        if (session_ == nullptr) return;
        for (std::size_t i = 0; i < stages_.size(); ++i)
            work.stages.push_back({session_->module().graph().stages[i], median(stages_[i])});
        work.stages.push_back({"between_stages", median(outside_)});
    }

private:
    std::vector<double> stage_times() const {
        std::vector<double> times;
        if (session_ != nullptr)
            for (const std::string& stage : session_->module().graph().stages)
                times.push_back(session_->stage_ms(stage));
        return times;
    }

    const inkstone::module::Session* session_;
    std::vector<double> runs_, outside_;
    std::vector<std::vector<double>> stages_;  // by stage
};

}  // namespace

// One sample; also kept for the whole run.
Result<double> BenchMeasure::sample(bool reading, backend::cpu::Samples& samples) {
    if (!(reading ? limits_.sample_reading(samples) : limits_.sample_arithmetic(peak_, samples))) return cancelled();
    (reading ? reading_ : arithmetic_).add(samples.last());
    return samples.last();
}

// run() -> Status is one repeat, timed. A short run is repeated between two samples, so that most time is the work's.
template <class Run>
Status BenchMeasure::repeat(BenchWork& work, const inkstone::module::Session* session, const Run& run) {
    const bool reading = work.bytes > 0;
    const std::size_t together = reading ? kTokensBetweenSamples : 1;
    backend::cpu::Samples samples;
    INKSTONE_TRY(work.limit_before, sample(reading, samples));
    INKSTONE_CHECK(run());  // warms caches, makes plans
    Clock clock(session);
    const double start = now_ms();
    while (clock.count() < repeats_.least * together ||
           (clock.count() < repeats_.most * together && now_ms() - start < repeats_.seconds * 1000)) {
        for (std::size_t i = 0; i < together; ++i) INKSTONE_CHECK(clock.time(run));
        INKSTONE_TRY(work.limit_after, sample(reading, samples));
    }
    clock.report(work);
    work.limit = speed_of(samples);
    return {};
}

Result<BenchWork> BenchMeasure::products() {
    // Shapes of both towers with how often they occur; the head's rows are few, so it is left out.
    struct Shape {
        tensor::PackedMatrix matrix;
        ops::ElementType input = ops::ElementType::f32;
        std::size_t often = 0;
    };
    std::map<std::pair<std::size_t, std::size_t>, Shape> shapes;
    for (const inkstone::module::Module* module :
         {&engine_.vision_session().module(), &engine_.decoder().session().module()}) {
        const graph::Graph& graph = module->graph();
        for (const graph::Node& node : graph.nodes) {
            const graph::ValueInfo& out = graph.values[node.outputs[0].index];
            if (std::holds_alternative<ops::Embedding>(node.parameters) || out.rows == ops::Rows::logit) continue;
            for (const graph::Matrix number : node.matrices) {
                const tensor::PackedMatrix& matrix = module->weights().matrix(number);
                Shape& shape = shapes[{matrix.outputs, matrix.inputs}];
                shape.matrix = matrix;
                shape.input = graph.matrices[number.index].input_type();
                ++shape.often;
            }
        }
    }
    BenchWork work;
    work.count = kProductRows;
    std::vector<std::pair<TimedProduct, std::size_t>> all;
    std::vector<std::vector<double>> times(shapes.size());
    for (const auto& [sides, shape] : shapes) {
        INKSTONE_TRY(auto product, TimedProduct::create(engine_.backend(), shape.matrix, shape.input, kProductRows));
        all.emplace_back(std::move(product), shape.often);
        work.operations += 2.0 * static_cast<double>(kProductRows * sides.first * sides.second * shape.often);
    }
    // Each shape is run once a round; what the whole would take is the sum of medians times how often they occur.
    INKSTONE_CHECK(repeat(work, nullptr, [&]() -> Status {
        for (std::size_t i = 0; i < all.size(); ++i) {
            INKSTONE_TRY(const double ms, all[i].first.run_ms());
            times[i].push_back(ms);
        }
        return {};
    }));
    work.median_ms = work.best_ms = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto often = static_cast<double>(all[i].second);
        work.median_ms += often * median(times[i]);
        work.best_ms += often * *std::min_element(times[i].begin(), times[i].end());
    }
    return work;
}

Result<BenchWork> BenchMeasure::vision(const PictureSize& picture) {
    const image::Preprocessing& preprocessing = engine_.package().preprocessing;
    const int patch = preprocessing.patch_size;
    INKSTONE_TRY(const image::Size size,
                 image::smart_resize({picture.height, picture.width}, std::int64_t{patch} * preprocessing.merge_size,
                                     preprocessing.min_pixels, preprocessing.max_pixels));
    image::Patches patches;
    patches.grid_height = static_cast<int>(size.height / patch);
    patches.grid_width = static_cast<int>(size.width / patch);
    const auto rows = static_cast<std::size_t>(patches.grid_height) * static_cast<std::size_t>(patches.grid_width);
    patches.values.resize(rows * 3 * static_cast<std::size_t>(patch) * static_cast<std::size_t>(patch));
    // Something like a page: most of it one value, some of it another.
    for (std::size_t i = 0; i < patches.values.size(); ++i) patches.values[i] = i * 2654435761U % 7 == 0 ? -1.5F : 1.8F;

    BenchWork work;
    work.what = std::to_string(size.width) + "x" + std::to_string(size.height);
    work.count = rows;
    const auto counts = model::vision_rows(engine_.package().config, static_cast<std::size_t>(patches.grid_height),
                                           static_cast<std::size_t>(patches.grid_width));
    const auto operations =
        inkstone::module::operations(engine_.vision_session().module().graph(), counts, static_cast<double>(rows));
    work.operations = operations.products + operations.attention;
    std::vector<float> visual;
    INKSTONE_CHECK(repeat(work, &engine_.vision_session(), [&] { return engine_.run_vision(patches, visual); }));
    return work;
}

// Tokens of a text: spread over the vocabulary, each at its place on every axis.
void BenchMeasure::append(generate::Sequence& sequence, std::size_t tokens) const {
    const std::size_t vocabulary = engine_.package().config.text.vocab_size;
    for (std::size_t i = 0; i < tokens; ++i)
        sequence.append(static_cast<std::int32_t>(sequence.size() * 7919 % vocabulary));
}

Result<BenchWork> BenchMeasure::prefill(std::size_t tokens) {
    generate::Decoder& decoder = engine_.decoder();
    const graph::Graph& graph = decoder.session().module().graph();
    inkstone::module::KvPool pool(engine_.backend(), graph.kv);
    inkstone::module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = tokens;
    rows[static_cast<std::size_t>(ops::Rows::logit)] = 1;
    const auto operations = inkstone::module::operations(graph, rows, (static_cast<double>(tokens) + 1) / 2);
    BenchWork work;
    work.count = tokens;
    work.operations = operations.products + operations.attention;
    generate::Sequence sequence(pool, engine_.package().config.text.mrope_section.size());
    INKSTONE_CHECK(repeat(work, &decoder.session(), [&] {
        sequence.crop(0);
        append(sequence, tokens);
        return decoder.prefill(sequence);
    }));
    return work;
}

Result<BenchWork> BenchMeasure::decode(std::size_t context) {
    generate::Decoder& decoder = engine_.decoder();
    const inkstone::module::Module& module = decoder.session().module();
    inkstone::module::KvPool pool(engine_.backend(), module.graph().kv);
    inkstone::module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = rows[static_cast<std::size_t>(ops::Rows::logit)] = 1;
    const auto operations = inkstone::module::operations(module.graph(), rows, static_cast<double>(context + 1));
    BenchWork work;
    work.count = context;
    work.operations = operations.products + operations.attention;
    const double position_bytes = static_cast<double>(pool.page_bytes()) / tensor::kBlockPositions;
    work.bytes = static_cast<double>(inkstone::module::matrix_bytes_read(module)) +
                 position_bytes * static_cast<double>(context + 1);
    generate::Sequence sequence(pool, engine_.package().config.text.mrope_section.size());
    INKSTONE_CHECK(sequence.reserve(context + 1));
    append(sequence, context);
    if (context > 0) INKSTONE_CHECK(decoder.prefill(sequence));
    // Always the same position, so that every repeat is the same work.
    INKSTONE_CHECK(repeat(work, &decoder.session(), [&] {
        sequence.crop(context);
        append(sequence, 1);
        const generate::StepRows row{&sequence, 1, 1};
        return decoder.step({&row, 1});
    }));
    return work;
}

}  // namespace inkstone::runtime
