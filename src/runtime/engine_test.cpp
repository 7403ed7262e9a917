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
    EXPECT_NE(not_loaded.error().message.find("limit of 1000 bytes"), std::string::npos) << not_loaded.error().text();
}

// What loading is measured by is what stays in memory, not the bytes of the file: F32 that BF16 holds takes half.
TEST(Memory, LoadingIsComparedByWhatWillBeResident) {
    const auto engine = load(kTiny);
    ASSERT_NE(engine->weight_bytes(), engine->package().checkpoint.total_bytes());
    for (const bool enough : {true, false}) {
        EngineOptions options;
        options.memory_limit_bytes = engine->weight_bytes() - (enough ? 0 : 1);
        const auto limited = Engine::load(kTiny, std::move(options));
        EXPECT_EQ(limited.ok(), enough);
        if (!enough) {
            EXPECT_EQ(limited.error().code, ErrorCode::out_of_memory);
            EXPECT_NE(limited.error().message.find("--memory-limit"), std::string::npos) << limited.error().text();
        }
    }
}

TEST(Memory, APictureIsRefusedByItsHeader) {
    const std::uint64_t weights = load(kTiny)->weight_bytes();
    EngineOptions options;
    options.memory_limit_bytes = weights + (std::uint64_t{8} << 20);
    const auto engine = load(kTiny, std::move(options));
    EXPECT_TRUE(engine->admit_picture({0, 0, 1 << 20, 0}, 0).ok());
    EXPECT_TRUE(engine->admit_picture({500, 500, 1 << 20, 0}, 0).ok());
    struct Case {
        image::DecodeDemand demand;
        std::uint64_t held;
        const char* words;
    };
    for (const Case& each :
         {Case{{2000, 2000, 1000, 0}, 0, "2000 x 2000 pixels 12 MiB"}, Case{{0, 0, 9 << 20, 0}, 0, "its file 9 MiB"},
          Case{{500, 500, 1000, 8 << 20}, 0, "its decoder 8 MiB"},
          Case{{500, 500, 1000, 0}, 8 << 20, "pictures before it 8 MiB"}}) {
        const auto refused = engine->admit_picture(each.demand, each.held);
        ASSERT_FALSE(refused.ok()) << each.words;
        EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
        for (const char* words : {each.words, "more than the limit of", "--memory-limit"})
            EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().text();
    }
    // Nothing that recognize() takes is refused before it: the largest picture that each of them allows.
    for (const auto& [width, height] :
         {std::pair(100, 100), std::pair(30, 400), std::pair(400, 30), std::pair(900, 700)}) {
        image::Image blank = *image::allocate_image(width, height);
        EngineOptions exact;
        exact.memory_limit_bytes = 0;
        const auto free_engine = load(kTiny);
        AnswerOptions once = tokens(1);
        once.on_estimate = [&](const MemoryEstimate& needed, const TimeEstimate&) {
            exact.memory_limit_bytes = needed.total();
        };
        ASSERT_TRUE(free_engine->recognize({{blank}, "", "text"}, once).ok());
        const auto limited = load(kTiny, std::move(exact));
        const auto w = static_cast<std::uint64_t>(width), h = static_cast<std::uint64_t>(height);
        EXPECT_TRUE(limited->admit_picture({w, h, 100, 0}, 0).ok()) << width << " x " << height;
        EXPECT_TRUE(limited->recognize({{blank}, "", "text"}, tokens(1)).ok());
    }
}

// A file that is cut or written to while it is loaded is an error; looking at its mapping would end the process.
TEST(Load, FilesThatChangeMeanwhile) {
    const char* const shard = "model-00002-of-00002.safetensors";
    for (const bool cut : {true, false})
        for (const int threads : {1, 2}) {
            const PackageCopy copy(kTiny);
            copy.write(shard, copy.read(shard));  // a file of its own, not a link
            const auto file = copy.path() / shard;
            const auto size = std::filesystem::file_size(file);
            EngineOptions options;
            options.threads = threads;
            bool done = false;
            options.on_load = [&](std::uint64_t, std::uint64_t) {
                if (std::exchange(done, true)) return;
                if (cut)
                    std::filesystem::resize_file(file, 4096);
                else
                    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
            };
            const auto engine = Engine::load(copy.path(), std::move(options));
            ASSERT_TRUE(done);
            ASSERT_FALSE(engine.ok());
            EXPECT_EQ(engine.error().code, ErrorCode::io);
            EXPECT_EQ(engine.error().subject, file.string());
            EXPECT_NE(engine.error().message.find("while it was read"), std::string::npos) << engine.error().text();
            if (cut) {
                EXPECT_NE(engine.error().message.find(std::to_string(size)), std::string::npos);
                EXPECT_NE(engine.error().message.find("4096"), std::string::npos);
            }
        }
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
