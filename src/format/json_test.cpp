// The JSON reader: typed lookups and what their errors say, hostile documents, and the writer's escapes.
#include "format/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/mapped_file.h"
#include "format/json_writer.h"
#include "testing/allocations.h"

namespace inkstone::format {
namespace {

Json parsed(std::string_view text) {
    auto json = Json::parse(text, "config.json");
    EXPECT_TRUE(json) << json.error().text();
    return *json;
}

std::string error_of(std::string_view text) {
    const auto json = Json::parse(text, "config.json");
    if (json) return "";
    EXPECT_EQ(json.error().code, ErrorCode::malformed);
    EXPECT_EQ(json.error().subject, "config.json");
    return json.error().message;
}

constexpr std::string_view kConfig = R"({
    "model_type": "hunyuan_vl",
    "text_config": {"hidden_size": 1024, "rms_norm_eps": 1e-5, "tie": true, "sections": [16, 16, 16, 16],
                    "stop": null, "big": 18446744073709551615},
    "names": ["a", "b"], "layers": [{"id": 7}, {"id": 8}], "a.b": {"c": 1}
})";

}  // namespace

TEST(Json, ReadsTypedValues) {
    const Json json = parsed(kConfig);
    EXPECT_EQ(json.integer("text_config.hidden_size").value(), 1024);
    EXPECT_EQ(json.number("text_config.rms_norm_eps").value(), 1e-5);
    EXPECT_EQ(json.number("text_config.hidden_size").value(), 1024.0);
    EXPECT_EQ(json.text("model_type").value(), "hunyuan_vl");
    EXPECT_TRUE(json.boolean("text_config.tie").value());
    EXPECT_EQ(json.integers("text_config.sections").value(), (std::vector<std::int64_t>{16, 16, 16, 16}));
    EXPECT_EQ(json.numbers("text_config.sections").value(), (std::vector<double>{16, 16, 16, 16}));
    EXPECT_EQ(json.texts("names").value(), (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(json.has("text_config.hidden_size"));
    EXPECT_FALSE(json.has("text_config.stop"));  // null counts as absent
    EXPECT_FALSE(json.has("model_type.hidden_size"));
    EXPECT_EQ(json.integer_or("text_config.stop", 5).value(), 5);
    EXPECT_EQ(json.text_or("nothing", "x").value(), "x");
    EXPECT_EQ(json.boolean_or("nothing", true).value(), true);
    EXPECT_EQ(json.number_or("nothing", 0.5).value(), 0.5);
    EXPECT_EQ(json.keys(), (std::vector<std::string>{"model_type", "text_config", "names", "layers", "a.b"}));
    EXPECT_EQ(json.member("a.b").value().integer("c").value(), 1);
    const auto layers = json.list("layers").value();
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(layers[1].integer("id").value(), 8);
    EXPECT_EQ(json.list("names").value()[0].text("").value(), "a");
}

TEST(Json, ErrorsNameFileKeyFoundAndExpected) {
    const Json json = parsed(kConfig);
    const auto text_of = [](const auto& result) { return result ? std::string("no error") : result.error().text(); };
    EXPECT_EQ(text_of(json.integer("text_config.hidden_size", 1, 512)),
              "read json: config.json: text_config.hidden_size: is 1024, expected an integer from 1 to 512");
    EXPECT_EQ(text_of(json.integer("model_type", 1)),
              "read json: config.json: model_type: is \"hunyuan_vl\", expected an integer of at least 1");
    EXPECT_EQ(text_of(json.number("text_config.rms_norm_eps", 0.5, 1)),
              "read json: config.json: text_config.rms_norm_eps: is 1e-05, expected a number from 0.5 to 1");
    EXPECT_EQ(text_of(json.integer("text_config.hidden_sise")),
              "read json: config.json: text_config.hidden_sise: is missing; a similar key is \"hidden_size\"");
    EXPECT_EQ(text_of(json.integer("text_config.stop")),
              "read json: config.json: text_config.stop: is null, expected a value");
    EXPECT_EQ(text_of(json.integers("text_config.sections", 0, 8)),
              "read json: config.json: text_config.sections[0]: is 16, expected an integer from 0 to 8");
    EXPECT_EQ(text_of(json.object("names")),
              "read json: config.json: names: is a list of 2 values, expected an object");
    EXPECT_EQ(text_of(json.list("text_config")),
              "read json: config.json: text_config: is an object of 6 keys, expected a list");
    EXPECT_EQ(text_of(json.list("layers").value()[1].boolean("id")),
              "read json: config.json: layers[1].id: is 8, expected true or false");
    EXPECT_EQ(json.integer("nothing").error().code, ErrorCode::not_found);
    // Beyond 64 signed bits is no integer, never a wrapped one.
    EXPECT_FALSE(json.integer("text_config.big"));
    EXPECT_FALSE(json.integer("text_config.rms_norm_eps"));
    // A default does not excuse a wrong value.
    EXPECT_FALSE(json.integer_or("model_type", 3));
}

TEST(Json, RefusesHostileDocuments) {
    EXPECT_EQ(error_of(""), "is empty, expected JSON");
    EXPECT_EQ(error_of(" \n\t"), "is empty, expected JSON");
    EXPECT_EQ(error_of("{\n  \"a\": tru }"), "is not valid JSON at line 2, column 11");
    EXPECT_NE(error_of(R"({"a": 1, "b": {"c": 1)").find("cut short"), std::string::npos);
    EXPECT_EQ(error_of(R"({"x": {"a": 1, "b": 2, "a": 1}})"), "has the key \"a\" twice in one object");
    EXPECT_NE(error_of(std::string(100000, '[')).find("64 levels"), std::string::npos);
    EXPECT_TRUE(Json::parse(std::string(64, '[') + std::string(64, ']'), "x"));
    EXPECT_FALSE(Json::parse(std::string(65, '[') + std::string(65, ']'), "x"));
    for (const char* text : {"{} {}", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "NaN", "[1e999]", "01", "\"\\ud800\"",
                             "\"\x80\"", "\"a\nb\"", "/* */ 1", "-"})
        EXPECT_NE(error_of(text), "") << text;
}

TEST(Json, ReadsFilesWithinTheLimit) {
    const auto path = std::filesystem::path(::testing::TempDir()) / "inkstone_json_limit.json";
    std::ofstream(path) << "{\"a\": [1, 2, 3]}";
    EXPECT_TRUE(Json::read(path));
    EXPECT_EQ(Json::read(path, 8).error().code, ErrorCode::malformed);
    for (const char* text : {"null", "[]", "1"}) {
        std::ofstream(path) << text;
        EXPECT_EQ(Json::read(path).error().code, ErrorCode::malformed) << text;
    }
    std::filesystem::remove(path);
    EXPECT_EQ(Json::read(path).error().code, ErrorCode::not_found);
}

// Cuts and seeded mutations of a real config: an error or a document, never a crash. What is accepted is what strict
// JSON accepts, and every lookup on it answers.
TEST(Json, SurvivesCutsAndMutations) {
    const std::string text =
        read_text_file(std::string(INKSTONE_SOURCE_DIR) + "/models/nano/config.json", 1 << 20, "test").value();
    std::size_t refused = 0;
    const auto look = [&](const std::string& document) {
        inkstone::testing::largest_request_bytes = 0;
        const auto json = Json::parse(document, "config.json");
        EXPECT_LE(inkstone::testing::largest_request_bytes.load(), 4 * document.size() + 4096);
        EXPECT_TRUE(!json || nlohmann::json::accept(document));
        if (!json) return void(++refused);
        for (const std::string& key : json->keys()) (void)json->integer(key);
        (void)json->integer("text_config.hidden_size", 1, 65536);
        (void)json->integers("text_config.rope_parameters.mrope_section");
    };
    for (std::size_t i = 0; i < 100; ++i) look(text.substr(0, text.size() * i / 100));
    EXPECT_EQ(refused, 100U);
    std::mt19937 random(7);
    constexpr std::string_view kBytes = "{}[]\",:\\0189eE-+.untf \x80\xFF\x01";
    for (int i = 0; i < 500; ++i) {
        std::string mutated = text;
        for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
            const std::size_t at = random() % mutated.size();
            switch (random() % 3) {
                case 0:
                    mutated[at] = kBytes[random() % kBytes.size()];
                    break;
                case 1:
                    mutated.erase(at, 1 + random() % 8);
                    break;
                default:
                    mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 16));
            }
        }
        look(mutated);
    }
    EXPECT_GT(refused, 300U);
}

TEST(NearestKey, SuggestsOnlyWhatIsNear) {
    const std::vector<std::string> known = {"hidden_size", "head_dim", "num_hidden_layers", "rope_theta"};
    EXPECT_EQ(nearest_key("hiden_size", known), "hidden_size");
    EXPECT_EQ(nearest_key("head_dmi", known), "head_dim");
    EXPECT_EQ(nearest_key("num_layers", known), std::nullopt);
    EXPECT_EQ(nearest_key("rope_base", known), std::nullopt);
    EXPECT_EQ(nearest_key("", known), std::nullopt);
    EXPECT_EQ(nearest_key(std::string(1000, 'a'), known), std::nullopt);
}

TEST(JsonWriter, WritesOrderedNestedValues) {
    JsonWriter writer;
    writer.begin_object().key("z").integer(-1).key("a").begin_list().number(0.1).number(1e300).null().end_list();
    writer.key("o").begin_object().end_object().key("t").boolean(true).key("u").unsigned_integer(~std::uint64_t{0});
    writer.key("nan").number(std::nan("")).key("l").begin_list().begin_list().end_list().text("x").end_list();
    writer.end_object();
    EXPECT_EQ(writer.str(),
              R"({"z":-1,"a":[0.1,1e+300,null],"o":{},"t":true,"u":18446744073709551615,"nan":null,"l":[[],"x"]})");
}

// Whatever bytes go in, strict JSON comes out; well-formed text comes back unchanged.
TEST(JsonWriter, EscapesEveryByte) {
    EXPECT_EQ(json_quoted("a\"b\\c\n\t\r\b\f\x01 \x7F 汉字 😀"), "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001 \x7F 汉字 😀\"");
    EXPECT_EQ(json_quoted("\xE6\xB1"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a cut character
    EXPECT_EQ(json_quoted("\xED\xA0\x80").size(), 2U + 3 * 3);           // a surrogate
    EXPECT_EQ(json_quoted("\xC0\x80").size(), 2U + 2 * 3);               // an overlong form
    std::mt19937 random(3);
    for (int i = 0; i < 300; ++i) {
        std::string bytes(random() % 24, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        const auto json = nlohmann::json::parse(json_quoted(bytes), nullptr, false);
        ASSERT_FALSE(json.is_discarded());
        if (json_quoted(bytes).find("\xEF\xBF\xBD") == std::string::npos) {
            ASSERT_EQ(json.get<std::string>(), bytes);
        }
    }
}

}  // namespace inkstone::format
