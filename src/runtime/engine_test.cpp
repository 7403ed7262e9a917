// The flow of a request: cancelling at every stage, limits that are checked before any work, and what is left behind.
#include "runtime/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "image/decode.h"
#include "testing/package_copy.h"

namespace inkstone::runtime {
namespace {

using testing::PackageCopy;

const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;
const std::filesystem::path kTiny = kRoot / "tests/data/tiny";

std::unique_ptr<Engine> load(const std::filesystem::path& folder, EngineOptions options = {}) {
    auto engine = Engine::load(folder, std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.error().text();
    return std::move(*engine);
}

image::Image picture(const char* name = "square.png") {
    return std::move(*image::decode_file(kRoot / "tests/data/pictures" / name));
}

AnswerOptions tokens(std::size_t max_new_tokens) {
    AnswerOptions options;
    options.max_new_tokens = max_new_tokens;
    return options;
}

TEST(Cancel, FromAnotherThreadAtEveryStage) {
    const auto engine = load(kTiny);
    std::string system;  // long enough for several chunks of the prompt
    for (int i = 0; i < 700; ++i) system += "word ";
    const auto request = [&] { return Request{{picture(), picture("wide.png")}, system, "text"}; };
    const auto alone = engine->recognize(request(), tokens(20));
    ASSERT_TRUE(alone.ok()) << alone.error().text();
    ASSERT_GT(alone->prompt_tokens, generate::Decoder::kMaximumRows);

    for (const std::string stage : {"vision", "prefill", "decode"})
        for (const int call : {1, 2}) {
            SCOPED_TRACE(stage + " " + std::to_string(call));
            std::atomic<bool> cancel{false};
            int calls = 0;
            AnswerOptions options = tokens(20);
            options.cancel = &cancel;
            options.on_progress = [&](std::string_view at, std::int64_t, std::int64_t) {
                if (at == stage && ++calls == call) std::thread([&] { cancel = true; }).join();
            };
            const auto answer = engine->recognize(request(), options);
            ASSERT_FALSE(answer.ok());
            EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
            EXPECT_EQ(calls, call);  // nothing of the stage came after it
            const auto again = engine->recognize(request(), tokens(20));
            ASSERT_TRUE(again.ok());
            EXPECT_EQ(again->generated.ids, alone->generated.ids);
        }
}

TEST(Cancel, SetBeforeTheCall) {
    const auto engine = load(kTiny);
    const std::atomic<bool> cancel{true};
    AnswerOptions options = tokens(5);
    options.cancel = &cancel;
    for (const bool with_picture : {true, false}) {
        Request request{{}, "", "text"};
        if (with_picture) request.images.push_back(picture());
        const auto answer = engine->recognize(std::move(request), options);
        ASSERT_FALSE(answer.ok());
        EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
    }
    EXPECT_TRUE(engine->recognize({{picture()}, "", "text"}, tokens(5)).ok());
}

TEST(Cancel, OfLoading) {
    const std::atomic<bool> cancel{true};
    EngineOptions options;
    options.cancel = &cancel;
    const auto engine = Engine::load(kTiny, std::move(options));
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().code, ErrorCode::cancelled);

    std::atomic<bool> later{false};
    EngineOptions part_way;
    part_way.cancel = &later;
    int calls = 0;
    part_way.on_load = [&](std::uint64_t, std::uint64_t) { later = ++calls == 3; };
    EXPECT_FALSE(Engine::load(kTiny, std::move(part_way)).ok());
    EXPECT_EQ(calls, 3);
}

TEST(Cancel, TheCallerOfTextEndsItWithTheTextSoFar) {
    const auto engine = load(kTiny);
    const auto whole = engine->recognize({{picture()}, "", "text"}, tokens(30));
    ASSERT_TRUE(whole.ok());
    AnswerOptions options = tokens(30);
    std::string heard;
    int calls = 0;
    options.on_text = [&](std::string_view piece) {
        heard += piece;
        return ++calls < 4;
    };
    const auto answer = engine->recognize({{picture()}, "", "text"}, options);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->generated.finish, generate::Finish::cancelled);
    EXPECT_EQ(calls, 4);
    EXPECT_TRUE(answer->text.starts_with(heard));
    EXPECT_TRUE(whole->text.starts_with(heard));
    EXPECT_LT(answer->generated.ids.size(), whole->generated.ids.size());
}

TEST(Memory, AfterARunNoMoreIsHeldThanWasEstimated) {
    for (const char* name : {"small.png", "wide.png", "tall.png"})
        for (const std::size_t new_tokens : {1U, 40U, 41U, 42U, 43U, 60U, 107U}) {
            const auto engine = load(kTiny);
            const auto answer = engine->recognize({{picture(name)}, "", "text"}, tokens(new_tokens));
            ASSERT_TRUE(answer.ok());
            const auto& image = answer->images[0];
            const model::hunyuan_vl::ImageGrid grid{static_cast<std::size_t>(image.grid_height),
                                                    static_cast<std::size_t>(image.grid_width)};
            const MemoryEstimate estimate = engine->estimate({&grid, 1}, 0, answer->prompt_tokens, new_tokens);
            EXPECT_LE(engine->cache_bytes(), estimate.cache) << name << ", " << new_tokens << " tokens";
            EXPECT_LE(engine->activation_bytes(), estimate.activations + estimate.vision)
                << name << ", " << new_tokens << " tokens";
            EXPECT_EQ(engine->weight_bytes(), estimate.weights);
        }
}

TEST(Memory, TooMuchIsRefusedWithNumbersBeforeAnyWork) {
    const auto free_engine = load(kTiny);
    EngineOptions options;
    options.memory_limit_bytes = free_engine->weight_bytes() + (std::uint64_t{1} << 20);
    const auto engine = load(kTiny, std::move(options));
    AnswerOptions many = tokens(2000);
    bool worked = false;
    many.on_progress = [&](std::string_view, std::int64_t, std::int64_t) { worked = true; };
    const auto refused = engine->recognize({{picture()}, "", "text"}, many);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(refused.error().message.find("MiB"), std::string::npos);
    EXPECT_NE(refused.error().message.find("memory_limit"), std::string::npos);
    EXPECT_FALSE(worked);
    EXPECT_EQ(engine->activation_bytes(), 0U);

    EngineOptions tiny_limit;
    tiny_limit.memory_limit_bytes = 1000;
    const auto not_loaded = Engine::load(kTiny, std::move(tiny_limit));
    ASSERT_FALSE(not_loaded.ok());
    EXPECT_EQ(not_loaded.error().code, ErrorCode::out_of_memory);
}

// A package that asks for pictures beyond its own context: refused by count, before anything of that size exists.
TEST(Context, APictureBeyondTheContextIsRefusedBeforeAnyWork) {
    const PackageCopy copy(kTiny);
    copy.set("preprocessor_config.json", "/min_pixels", std::int64_t{1} << 40);
    copy.set("preprocessor_config.json", "/max_pixels", std::int64_t{1} << 40);
    const auto engine = load(copy.path());
    const auto answer = engine->recognize({{picture()}, "", "text"}, tokens(1));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::context_full);
    EXPECT_NE(answer.error().message.find("2048"), std::string::npos) << answer.error().text();
}

TEST(Context, AnAnswerStopsWhereThePositionsEnd) {
    const PackageCopy copy(kTiny);
    const auto prompt = load(kTiny)->recognize({{picture()}, "", "text"}, tokens(0))->prompt_tokens;
    for (const std::size_t room : {0U, 1U, 5U}) {
        copy.set("config.json", "/max_position_embeddings", prompt + room);
        const auto answer = load(copy.path())->recognize({{picture()}, "", "text"}, tokens(20));
        ASSERT_TRUE(answer.ok()) << answer.error().text();
        EXPECT_EQ(answer->generated.finish, generate::Finish::context_full);
        EXPECT_EQ(answer->generated.ids.size(), room);
    }
    copy.set("config.json", "/max_position_embeddings", prompt - 1);
    const auto refused = load(copy.path())->recognize({{picture()}, "", "text"}, tokens(20));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::context_full);
    EXPECT_NE(refused.error().message.find(std::to_string(prompt)), std::string::npos);
}

TEST(Load, ProgressEndsAtTheTotal) {
    EngineOptions options;
    std::uint64_t last = 0, total = 0;
    options.on_load = [&](std::uint64_t done, std::uint64_t all) {
        EXPECT_GE(done, last);
        last = done;
        total = all;
    };
    const auto engine = load(kTiny, std::move(options));
    EXPECT_EQ(last, total);
}

}  // namespace
}  // namespace inkstone::runtime
