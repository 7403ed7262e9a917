// A folder opens whole or not at all, whatever is missing, contradicts itself or was damaged.
#include "runtime/package.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <tuple>

#include "image/decode.h"
#include "runtime/engine.h"
#include "testing/package_copy.h"

namespace inkstone::runtime {
namespace {

using testing::kRemoved;
using testing::PackageCopy;

const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;
const std::filesystem::path kTiny = kRoot / "tests/data/tiny";

void expect_error(const std::filesystem::path& folder, ErrorCode code, std::string_view word) {
    const auto package = Package::open(folder);
    ASSERT_FALSE(package.ok()) << word;
    EXPECT_EQ(name_of(package.error().code), name_of(code)) << package.error().text();
    EXPECT_NE(package.error().text().find(word), std::string::npos) << package.error().text();
}

TEST(Package, OpensBothPublishedForms) {
    EXPECT_TRUE(Package::open(kTiny).ok());
    EXPECT_TRUE(Package::open(kRoot / "models/nano").ok());
}

TEST(Package, AMissingFileIsNamed) {
    for (const char* file : {"config.json", "preprocessor_config.json", "tokenizer.json"}) {
        const PackageCopy copy(kTiny);
        copy.remove(file);
        expect_error(copy.path(), ErrorCode::not_found, file);
    }
    const PackageCopy copy(kTiny);
    copy.remove("model-00002-of-00002.safetensors");
    expect_error(copy.path(), ErrorCode::not_found, "model-00002-of-00002.safetensors");
    copy.remove("model.safetensors.index.json");
    expect_error(copy.path(), ErrorCode::not_found, "model.safetensors");
    expect_error(copy.path() / "nowhere", ErrorCode::not_found, "does not exist");
}

TEST(Package, TheTokenizerMustFitTheModel) {
    const PackageCopy copy(kTiny);
    copy.set("config.json", "/vocab_size", 1012);
    expect_error(copy.path(), ErrorCode::mismatch, "vocab_size 1012");

    const PackageCopy renamed(kTiny);
    std::string text = renamed.read("tokenizer.json");
    const std::string name = "<｜hy_User｜>";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) text.replace(at, 5, "<|hy");
    renamed.write("tokenizer.json", text);
    expect_error(renamed.path(), ErrorCode::not_found, name);
}

TEST(Package, AContradictionOfConfigAndWeightsIsRefusedOnLoading) {
    const std::pair<const char*, nlohmann::json> changes[] = {{"/hidden_size", 96},
                                                              {"/num_hidden_layers", 6},
                                                              {"/intermediate_size", 137},
                                                              {"/num_hidden_layers", 4096},
                                                              {"/vision_config/num_hidden_layers", 4},
                                                              {"/vision_config/max_image_size", 144},
                                                              {"/intermediate_size", 1 << 20}};
    for (const auto& [pointer, value] : changes) {
        const PackageCopy copy(kTiny);
        copy.set("config.json", pointer, value);
        const auto engine = Engine::load(copy.path(), {});
        ASSERT_FALSE(engine.ok()) << pointer;
        EXPECT_TRUE(engine.error().code == ErrorCode::mismatch || engine.error().code == ErrorCode::not_found)
            << engine.error().text();
    }
}

// Packages of other versions of this program: the version and the remedy are named, whatever the version is.
TEST(Package, OurOwnFormatIsRefusedByItsVersion) {
    for (const std::int64_t version : {-1, 0, 1, 2, 1000000}) {
        const PackageCopy copy(kTiny);
        copy.write("inkstone.json", nlohmann::json{{"format", "inkstone"}, {"version", version}}.dump());
        expect_error(copy.path(), ErrorCode::unsupported, "version: is " + std::to_string(version) + ",");
        expect_error(copy.path(), ErrorCode::unsupported, "use the folder that the package was made from");
        EXPECT_FALSE(Engine::load(copy.path(), {}).ok());
    }
    const std::tuple<const char*, ErrorCode, const char*> damaged[] = {
        {R"({"format": "inkstone"})", ErrorCode::not_found, "version"},
        {R"({"version": "1"})", ErrorCode::malformed, "version"},
        {R"({"version": 1.5})", ErrorCode::malformed, "version"},
        {R"({"version": 1)", ErrorCode::malformed, "inkstone.json"},
        {"", ErrorCode::malformed, "inkstone.json"}};
    for (const auto& [text, code, word] : damaged) {
        const PackageCopy copy(kTiny);
        copy.write("inkstone.json", text);
        expect_error(copy.path(), code, word);
    }
    const PackageCopy copy(kTiny);
    std::filesystem::create_symlink("nowhere", copy.path() / "inkstone.json");
    expect_error(copy.path(), ErrorCode::not_found, "inkstone.json");
}

// The context's length is data: any that holds the request gives the same answer.
TEST(Package, AnyContextLoadsAndReadsTheSame) {
    const auto picture = image::decode_file(kRoot / "tests/data/pictures/small.png");
    ASSERT_TRUE(picture.ok());
    std::vector<std::int32_t> expected;
    for (const int positions : {2048, 131072, 65536, 40000, 32768, 1021}) {
        const PackageCopy copy(kTiny);
        copy.set("config.json", "/max_position_embeddings", positions);
        auto engine = Engine::load(copy.path(), {});
        ASSERT_TRUE(engine.ok()) << positions << ": " << engine.error().text();
        AnswerOptions options;
        options.max_new_tokens = 12;
        const auto answer = (*engine)->recognize({{*picture}, "", "text"}, options);
        ASSERT_TRUE(answer.ok()) << positions << ": " << answer.error().text();
        if (expected.empty()) expected = answer->generated.ids;
        EXPECT_EQ(expected.size(), 12U);
        EXPECT_EQ(answer->generated.ids, expected) << positions;
    }
}

// Peak resident memory of this process in bytes.
std::int64_t peak_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

TEST(Package, DamagedConfigurationsLoadOrFail) {
    const auto picture = image::decode_file(kRoot / "tests/data/pictures/small.png");
    ASSERT_TRUE(picture.ok());
    const PackageCopy copy(kTiny);
    const std::string original = copy.read("config.json");
    const auto json = nlohmann::json::parse(original);
    const std::vector<nlohmann::json> values = {0,
                                                1,
                                                2,
                                                3,
                                                -1,
                                                7,
                                                16,
                                                64,
                                                255,
                                                1000,
                                                4096,
                                                1.5,
                                                1e300,
                                                1 << 20,
                                                true,
                                                "gelu",
                                                "",
                                                nullptr,
                                                {1, 2},
                                                std::int64_t{1} << 40,
                                                nlohmann::json::object()};
    const auto flat = json.flatten();
    std::vector<std::string> pointers;
    for (const auto& [pointer, value] : flat.items()) pointers.push_back(pointer);

    std::mt19937 random(11);
    const std::int64_t before = peak_bytes();
    int loaded = 0;
    for (int i = 0; i < 100; ++i) {
        std::string text = original;
        if (i % 4 == 0) {
            for (int edits = 0; edits < 3; ++edits) text[random() % text.size()] = "0189{}[]\",:-e"[random() % 13];
        } else {
            auto changed = json;
            for (int edits = 0; edits < 1 + i % 3; ++edits) {
                try {
                    changed[nlohmann::json::json_pointer(pointers[random() % pointers.size()])] =
                        values[random() % values.size()];
                } catch (const nlohmann::json::exception&) {  // the parent was replaced already
                }
            }
            text = changed.dump();
        }
        copy.write("config.json", text);
        auto engine = Engine::load(copy.path(), {});
        if (!engine.ok()) {
            EXPECT_FALSE(engine.error().message.empty());
            continue;
        }
        ++loaded;
        AnswerOptions options;
        options.max_new_tokens = 2;
        (void)(*engine)->recognize({{*picture}, "", "text"}, options);
    }
    EXPECT_GT(loaded, 10);
    EXPECT_LT(loaded, 90);
    EXPECT_LT(peak_bytes() - before, std::int64_t{256} << 20);
}

}  // namespace
}  // namespace inkstone::runtime
