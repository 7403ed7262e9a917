// Files that are wrong: each is an error that names the place, none crashes or hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "testing/allocations.h"
#include "text/tokenizer.h"

namespace inkstone::text {
namespace {

using Json = nlohmann::json;

// A small whole tokenizer: the byte alphabet, three tokens, one control token.
Json small_file() {
    std::ifstream file(INKSTONE_SOURCE_DIR "/tests/golden/text/tiny.json");
    Json out = Json::parse(file)["tokenizers"]["added"]["file"];

    out["normalizer"] = {{"type", "NFC"}};
    out["pre_tokenizer"]["type"] = "Sequence";
    out["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", "\\s+|-"}}}, {"behavior", "Isolated"}, {"invert", false}},
          {{"type", "Digits"}, {"individual_digits", true}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}}}};
    return out;
}

// Sets the value at a JSON pointer, and returns the error's text, which must have the code and all of `parts`.
void expect_error(const std::string& pointer, const Json& value, ErrorCode code, std::vector<std::string> parts) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    const auto tokenizer = Tokenizer::parse(file.dump(), "small.json");
    ASSERT_FALSE(tokenizer) << pointer << " = " << value;
    EXPECT_EQ(tokenizer.error().code, code) << tokenizer.error().text();
    parts.emplace_back("small.json");
    for (const std::string& part : parts)
        EXPECT_NE(tokenizer.error().text().find(part), std::string::npos)
            << "no \"" << part << "\" in: " << tokenizer.error().text();
}

// Hugging Face gives the same ids and texts for a vocabulary with such an entry.
void expect_own_text(const std::string& token) {
    Json file = small_file();
    file["model"]["vocab"][token] = 400;
    const auto tokenizer = Tokenizer::parse(file.dump(), "small.json");
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    EXPECT_EQ(tokenizer->decode(std::array{400}, false), token);
    EXPECT_EQ(tokenizer->token_bytes(400), token);
    const auto ids = tokenizer->encode(token, Specials::as_text);
    ASSERT_TRUE(ids);
    EXPECT_EQ(std::ranges::count(*ids, 400), 0) << "words are spelled in the alphabet and never reach it";
}

void expect_loads(const std::string& pointer, const Json& value) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    const auto tokenizer = Tokenizer::parse(file.dump(), "small.json");
    EXPECT_TRUE(tokenizer) << pointer << " = " << value << ": " << tokenizer.error().text();
}

constexpr ErrorCode kMalformed = ErrorCode::malformed;
constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

TEST(TokenizerJson, UnknownComponentsAreNamed) {
    expect_error("/normalizer", {{"type", "BertNormalizer"}}, kUnsupported, {"normalizer", "BertNormalizer"});
    expect_error("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Strip"}}}}}, kUnsupported,
                 {"normalizer.normalizers[0]", "Strip"});
    expect_error("/pre_tokenizer", {{"type", "Metaspace"}}, kUnsupported, {"pre_tokenizer", "Metaspace"});
    expect_error("/pre_tokenizer", nullptr, kUnsupported, {"pre_tokenizer", "ByteLevel"});
    expect_error("/pre_tokenizer/pretokenizers/1/type", "Whitespace", kUnsupported,
                 {"pre_tokenizer.pretokenizers[1]", "Whitespace"});
    expect_error("/pre_tokenizer/pretokenizers/0/behavior", "Sideways", kUnsupported,
                 {"pre_tokenizer.pretokenizers[0].behavior", "Sideways"});
    expect_error("/pre_tokenizer/pretokenizers/0/fuzzy", true, kUnsupported, {"pretokenizers[0]", "fuzzy"});
    expect_error("/pre_tokenizer/pretokenizers/3", {{"type", "Digits"}}, kUnsupported, {"pretokenizers[3]", "last"});
    expect_error("/pre_tokenizer/pretokenizers/0/pattern/Regex", "(a", kMalformed, {"pretokenizers[0]", "(a"});
    expect_error("/pre_tokenizer/pretokenizers/0/pattern/String", "a", kMalformed, {"pattern", "2", "1"});
    expect_error("/decoder", {{"type", "WordPiece"}}, kUnsupported, {"decoder", "WordPiece"});
    expect_error("/decoder", nullptr, kUnsupported, {"decoder"});
    expect_error("/post_processor", {{"type", "BertProcessing"}}, kUnsupported, {"post_processor", "BertProcessing"});
    expect_error("/model/type", "Unigram", kUnsupported, {"model.type", "Unigram"});
    expect_error("/model/dropout", 0.1, kUnsupported, {"model.dropout", "0.1"});
    expect_error("/model/end_of_word_suffix", "</w>", kUnsupported, {"model.end_of_word_suffix", "</w>"});
    expect_error("/model/continuing_subword_prefix", "##", kUnsupported, {"model.continuing_subword_prefix", "##"});
    expect_error("/model/magic", 1, kUnsupported, {"model", "magic"});
    expect_error("/surprise", 1, kUnsupported, {"surprise"});
}

TEST(TokenizerJson, NumbersAndNamesThatDoNotFit) {
    expect_error("/model/vocab/a", 257, kMalformed, {"model.vocab", "257"});
    expect_error("/model/vocab/a", -1, kMalformed, {"model.vocab[\"a\"]", "-1"});
    expect_error("/model/vocab/a", 2'000'000'000, kMalformed, {"model.vocab[\"a\"]", "2000000000"});
    expect_error("/model/vocab/a", 1e300, kMalformed, {"model.vocab[\"a\"]", "number"});
    expect_error("/model/vocab/a", "7", kMalformed, {"model.vocab[\"a\"]", "string"});
    expect_error("/model/vocab/中", 1'000'000, kMalformed, {"model.vocab[\"中\"]", "1000000"});
    expect_error("/model/vocab/a b", 300, ErrorCode::mismatch, {"model.vocab[\"a b\"]", "300", "266"});
    expect_error("/model/merges/0", "b zz", kMalformed, {"model.merges[0]", "zz"});
    expect_error("/model/merges/0", "bc", kMalformed, {"model.merges[0]", "bc"});
    expect_error("/model/merges/0", "a b c", kMalformed, {"model.merges[0]"});
    expect_error("/model/merges/0", Json::array({"b"}), kMalformed, {"model.merges[0]", "1", "2"});
    expect_error("/model/merges/2", small_file()["model"]["merges"][0], kMalformed, {"model.merges[2]", "merges[0]"});
    expect_error("/added_tokens/0/id", 5, kMalformed, {"added_tokens[0]", "5"});
    expect_error("/added_tokens/0/id", 1e6, kMalformed, {"added_tokens[0]", "number"});
    expect_error("/added_tokens/0/id", 1'000'000, kMalformed, {"added_tokens[0]", "1000000"});
    expect_error("/added_tokens/0/content", "ab", ErrorCode::mismatch, {"added_tokens[0]", "262", "256"});
    expect_error("/added_tokens/0/content", "", kMalformed, {"added_tokens[0].content", "empty"});
    expect_error("/added_tokens/1/content", small_file()["added_tokens"][3]["content"], kMalformed, {"added_tokens"});
    expect_error("/added_tokens/0/special", "yes", kMalformed, {"added_tokens[0].special", "boolean"});
    expect_error("/model/vocab", Json::object(), kMalformed, {"model.vocab", "0"});
    expect_error("/model", nullptr, kMalformed, {"model"});
}

TEST(TokenizerJson, BothFormsAndHarmlessOptionsLoad) {
    expect_loads("/model/merges/0", "b c");
    expect_loads("/model/merges/0", Json::array({"b", "c"}));
    expect_loads("/model/dropout", 0.0);
    expect_loads("/model/end_of_word_suffix", "");
    expect_loads("/model/byte_fallback", true);  // never used: all bytes are there
    expect_loads("/decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteLevel"}}, {{"type", "Fuse"}}}}});
    expect_loads("/post_processor", {{"type", "TemplateProcessing"}, {"single", Json::array()}});
    expect_loads("/truncation", {{"max_length", 5}});
}

TEST(TokenizerJson, KeysThatStandTwice) {
    std::string text = small_file().dump();
    for (const std::string key : {"\"model\":", "\"vocab\":", "\"a\":", "\"behavior\":", "\"content\":"}) {
        const std::size_t at = text.find(key);
        ASSERT_NE(at, std::string::npos);
        std::string twice = text;
        twice.insert(at, key == "\"a\":" ? key + "9," : key + "null,");
        EXPECT_FALSE(Tokenizer::parse(twice, "twice")) << key;
    }
}

TEST(TokenizerJson, DeepNestingIsAnError) {
    std::string text = R"({"normalizer":)";
    for (int i = 0; i < 100'000; ++i) text += R"({"type":"Sequence","normalizers":[)";
    EXPECT_FALSE(Tokenizer::parse(text, "deep"));
    Json nested = {{"type", "NFC"}};
    for (int i = 0; i < 100; ++i) nested = {{"type", "Sequence"}, {"normalizers", Json::array({nested})}};
    expect_error("/normalizer", nested, kMalformed, {"nested deeper than 8"});
}

TEST(TokenizerJson, MissingFilesAndFolders) {
    EXPECT_EQ(Tokenizer::load("/no/such/tokenizer.json").error().code, ErrorCode::not_found);
    EXPECT_EQ(Tokenizer::load(INKSTONE_SOURCE_DIR).error().code, ErrorCode::io);
}

// What loads must also work.
void use(const Tokenizer& tokenizer) {
    for (const Specials specials : {Specials::as_text, Specials::recognised}) {
        const auto ids = tokenizer.encode("ab-abc 12 中\n[left] <s>word", specials);
        if (!ids) continue;
        for (const std::int32_t id : *ids) ASSERT_LT(static_cast<std::size_t>(id), tokenizer.vocabulary_size());
        static_cast<void>(tokenizer.decode(*ids, true));
    }
}

TEST(TokenizerJson, TruncatedFilesAreErrors) {
    const std::string text = small_file().dump();
    for (std::size_t i = 0; i < 100; ++i) {
        const auto tokenizer = Tokenizer::parse(text.substr(0, text.size() * i / 100), "cut");
        ASSERT_FALSE(tokenizer) << i;
        EXPECT_FALSE(tokenizer.error().message.empty());
    }
}

// What the tables of bytes and compiled patterns take, whatever the file says.
constexpr std::size_t kTableBytes = 1 << 20;

TEST(TokenizerJson, MutatedFilesLoadOrAreErrors) {
    const std::string text = small_file().dump();
    std::mt19937 random(11);
    const std::string characters = "{}[]\",:0123456789-+eE.\\nulltrue \xC4\xA0\xFF";
    std::size_t loaded = 0;
    for (int round = 0; round < 500; ++round) {
        std::string mutated = text;
        for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
            const std::size_t at = random() % mutated.size();
            const std::size_t length = 1 + random() % 12;
            switch (random() % 4) {
                case 0:
                    mutated[at] = characters[random() % characters.size()];
                    break;
                case 1:
                    mutated.erase(at, length);
                    break;
                case 2:
                    mutated.insert(at, mutated.substr(random() % mutated.size(), length));
                    break;
                default:
                    mutated[at] = static_cast<char>(mutated[at] ^ static_cast<char>(1U << random() % 8));
                    break;
            }
        }
        testing::largest_request_bytes = 0;
        const auto tokenizer = Tokenizer::parse(mutated, "mutated");
        EXPECT_LE(testing::largest_request_bytes.load(), 4 * mutated.size() + kTableBytes);
        if (!tokenizer) continue;
        ++loaded;
        use(*tokenizer);
    }
    EXPECT_GT(loaded, 0U);
    EXPECT_LT(loaded, 500U);
}

// Mutations that keep the JSON whole reach deeper.
TEST(TokenizerJson, WrongValuesLoadOrAreErrors) {
    const Json file = small_file();
    const Json flat = file.flatten();
    const Json values[] = {nullptr, true, -1, 0, 255, 1u << 31, 1e308, "", "a", "Ġ", Json::array(), Json::object()};
    std::mt19937 random(13);
    std::vector<std::string> pointers;
    for (const auto& [pointer, value] : flat.items()) pointers.push_back(pointer);
    for (int round = 0; round < 500; ++round) {
        Json changed = file;
        changed[Json::json_pointer(pointers[random() % pointers.size()])] = values[random() % std::size(values)];
        const auto tokenizer = Tokenizer::parse(changed.dump(), "changed");
        if (tokenizer) use(*tokenizer);
    }
}

}  // namespace
TEST(TokenizerJson, EntriesOutsideTheAlphabetDecodeToTheirOwnText) {
    expect_own_text("中");
    expect_own_text("<unused 1>");
}

}  // namespace inkstone::text
