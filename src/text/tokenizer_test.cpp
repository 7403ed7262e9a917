// Ids and texts against Hugging Face's tokenizers (tests/golden/text, made by
// tools/validation/make_tokenizer_goldens.py).
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace inkstone::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

const std::string kGolden = INKSTONE_SOURCE_DIR "/tests/golden/text/";
const std::string kNano = INKSTONE_SOURCE_DIR "/models/nano/tokenizer.json";

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

Json golden(const std::string& name) { return Json::parse(read_file(kGolden + name)); }

Tokenizer load(const std::string& path) {
    auto tokenizer = Tokenizer::load(path);
    if (!tokenizer) ADD_FAILURE() << tokenizer.error().text();
    return std::move(tokenizer).value();
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, Specials specials) {
    auto ids = tokenizer.encode(text, specials);
    if (!ids) ADD_FAILURE() << ids.error().text();
    return ids ? *std::move(ids) : Ids{};
}

// Both modes over all texts; `as_text` has only the indices where the modes differ.
void expect_ids(const Tokenizer& tokenizer, const Json& texts, const Json& ids, const std::string& name) {
    ASSERT_EQ(texts.size(), ids["recognised"].size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto text = texts[i].get<std::string>();
        const auto recognised = ids["recognised"][i].get<Ids>();
        const std::string index = std::to_string(i);
        const auto as_text = ids["as_text"].contains(index) ? ids["as_text"][index].get<Ids>() : recognised;
        EXPECT_EQ(encode(tokenizer, text, Specials::recognised), recognised) << name << ": " << Json(text);
        const Ids found = encode(tokenizer, text, Specials::as_text);
        for (const std::int32_t id : found) EXPECT_FALSE(tokenizer.is_special(id)) << name << ": " << Json(text);
        EXPECT_EQ(found, as_text) << name << ": " << Json(text);
    }
}

class Corpus : public testing::TestWithParam<const char*> {
protected:
    std::string name = GetParam();
    Tokenizer tokenizer = load(name == "nano" ? kNano : kGolden + name + ".json");
    Json texts = golden("texts.json");
    Json ids = golden(name + "_ids.json");
};

TEST_P(Corpus, IdsEqualHuggingFace) {
    ASSERT_GE(texts.size(), 1000U);
    expect_ids(tokenizer, texts, ids, name);
}

TEST_P(Corpus, DecodedTextEqualsHuggingFace) {
    for (const Json& item : ids["decode"]) {
        EXPECT_EQ(tokenizer.decode(item["ids"].get<Ids>(), true), item["skip"].get<std::string>()) << item["ids"];
        EXPECT_EQ(tokenizer.decode(item["ids"].get<Ids>(), false), item["keep"].get<std::string>()) << item["ids"];
    }
}

TEST_P(Corpus, TextComesBack) {
    for (const Json& item : texts) {
        const auto text = item.get<std::string>();
        EXPECT_EQ(tokenizer.decode(encode(tokenizer, text, Specials::as_text), true), text);
        EXPECT_EQ(tokenizer.decode(encode(tokenizer, text, Specials::recognised), false), text);
    }
}

INSTANTIATE_TEST_SUITE_P(Text, Corpus, testing::Values("nano", "hunyuan_2000"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace

// Each small file is one component or option: field cases "word"/" word", whole-word lookup, literal split patterns,
// chained pre-tokenizers, every behaviour, added-token rules, normalizers, missing bytes.
TEST(Tokenizer, SmallFilesEqualHuggingFace) {
    const Json tiny = golden("tiny.json");
    ASSERT_GE(tiny["tokenizers"].size(), 28U);
    for (const auto& [name, item] : tiny["tokenizers"].items()) {
        auto tokenizer = Tokenizer::parse(item["file"].dump(), name);
        ASSERT_TRUE(tokenizer) << tokenizer.error().text();
        expect_ids(*tokenizer, tiny["texts"], item, name);
    }
}

TEST(Tokenizer, LooksUpTokens) {
    const Tokenizer tokenizer = load(kNano);
    EXPECT_EQ(tokenizer.vocabulary_size(), 1024U);
    EXPECT_EQ(tokenizer.token_id("<｜hy_User｜>"), 1003);
    EXPECT_EQ(tokenizer.token_bytes(1003), "<｜hy_User｜>");
    EXPECT_TRUE(tokenizer.is_special(1003));
    ASSERT_TRUE(tokenizer.token_id(" the"));
    EXPECT_EQ(tokenizer.token_bytes(*tokenizer.token_id(" the")), " the");
    EXPECT_FALSE(tokenizer.is_special(*tokenizer.token_id(" the")));
    EXPECT_FALSE(tokenizer.token_id("no such token"));
    for (const std::int32_t id : {-1, 1024, 2'147'483'647, -2'147'483'647}) {
        EXPECT_EQ(tokenizer.token_bytes(id), "");
        EXPECT_FALSE(tokenizer.is_special(id));
    }
}

// Field case: text that a user or a picture supplies holds a control token's text.
TEST(Tokenizer, UserTextNeverGivesControlTokens) {
    const Tokenizer tokenizer = load(kGolden + "hunyuan_2000.json");
    std::size_t special_count = 0;
    for (std::int32_t special = 0; special < static_cast<std::int32_t>(tokenizer.vocabulary_size()); ++special) {
        if (!tokenizer.is_special(special)) continue;
        ++special_count;
        const std::string content(tokenizer.token_bytes(special));
        EXPECT_EQ(encode(tokenizer, content, Specials::recognised), Ids{special});
        const std::string inside = "a" + content + content + " b";
        const Ids ids = encode(tokenizer, inside, Specials::as_text);
        for (const std::int32_t id : ids) EXPECT_FALSE(tokenizer.is_special(id)) << content;
        EXPECT_EQ(tokenizer.decode(ids, true), inside);
    }
    EXPECT_EQ(special_count, 9U);
}

// A control token may also be an entry of the vocabulary that whole-word lookup or merges reach. (Hugging Face's
// library gives the control token's id here even with encode_special_tokens.)
TEST(Tokenizer, WholeWordsAndMergesGiveNoControlTokens) {
    Json file = golden("tiny.json")["tokenizers"]["ignore_merges"]["file"];
    const std::int32_t word = file["model"]["vocab"]["word"].get<std::int32_t>();
    file["added_tokens"] = {{{"id", word}, {"content", "word"}, {"special", true}, {"normalized", false}}};
    for (const bool ignore_merges : {true, false}) {
        file["model"]["ignore_merges"] = ignore_merges;
        if (!ignore_merges) file["model"]["merges"].push_back({"wo", "rd"});
        auto tokenizer = Tokenizer::parse(file.dump(), "special word");
        ASSERT_TRUE(tokenizer) << tokenizer.error().text();
        EXPECT_EQ(encode(*tokenizer, "word", Specials::recognised), Ids{word});
        EXPECT_EQ(encode(*tokenizer, "word", Specials::as_text),
                  (Ids{*tokenizer->token_id("wo"), *tokenizer->token_id("rd")}));
    }
}

TEST(Tokenizer, BytesThatAreNotUtf8AreReplacedFirst) {
    const Tokenizer tokenizer = load(kNano);
    EXPECT_EQ(encode(tokenizer, "a\xFF\xE4\xB8z", Specials::as_text),
              encode(tokenizer, "a\xEF\xBF\xBD\xEF\xBF\xBDz", Specials::as_text));
}

// A quadratic merge takes many seconds on these.
TEST(Tokenizer, LongWordsAreNotSlow) {
    const Tokenizer tokenizer = load(kGolden + "hunyuan_2000.json");
    std::string chinese;
    for (int i = 0; i < 100'000; ++i) chinese += i % 3 == 0 ? "的" : i % 3 == 1 ? "中" : "国";
    const std::clock_t start = std::clock();
    for (const std::string& text : {std::string(300'000, 'a'), std::string(300'000, ' '), std::string(100'000, '\n'),
                                    std::string(100'000, '<'), chinese})
        EXPECT_EQ(tokenizer.decode(encode(tokenizer, text, Specials::as_text), true), text);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0) << "seconds of processor time";
}

// The merge by heap (words over 48 symbols) and the one by search must agree: a long word without merges across the
// joints is the short words' ids in a row.
TEST(Tokenizer, LongAndShortWordsMergeAlike) {
    const Tokenizer tokenizer = load(kGolden + "hunyuan_2000.json");
    const Ids once = encode(tokenizer, "zqthexz", Specials::as_text);
    std::string text;
    Ids repeated;
    for (int i = 0; i < 200; ++i) {
        text += "zqthexz";
        repeated.insert(repeated.end(), once.begin(), once.end());
    }
    ASSERT_FALSE(tokenizer.token_id("zz"));
    EXPECT_EQ(encode(tokenizer, text, Specials::as_text), repeated);
}

TEST(Tokenizer, ThreadsShareOne) {
    const Tokenizer tokenizer = load(kNano);
    const std::string text = "The engine reads a page. 的中国人 123 👍";
    const Ids expected = encode(tokenizer, text, Specials::as_text);
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int& count : wrong)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) count += encode(tokenizer, text, Specials::as_text) != expected;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Tokenizer, MovesWithItsViews) {
    Tokenizer first = load(kNano);
    const std::string_view bytes = first.token_bytes(1003);
    const Tokenizer second = std::move(first);
    EXPECT_EQ(second.token_bytes(1003).data(), bytes.data());
}

// The full size, made by make_tokenizer_goldens.py --large DIR and named by INKSTONE_LARGE_TOKENIZER=DIR.
TEST(Tokenizer, LargeVocabularyEqualsHuggingFace) {
    const char* folder = std::getenv("INKSTONE_LARGE_TOKENIZER");
    if (folder == nullptr) GTEST_SKIP() << "INKSTONE_LARGE_TOKENIZER names no folder";
    const std::string path = std::string(folder) + "/";
    const std::clock_t start = std::clock();
    const Tokenizer tokenizer = load(path + "tokenizer.json");
    EXPECT_LT(1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 400.0) << "ms of processor time";
    const Json ids = Json::parse(read_file(path + "ids.json"));
    expect_ids(tokenizer, Json::parse(read_file(path + "texts.json")), ids, "large");
    for (const Json& item : ids["decode"])
        EXPECT_EQ(tokenizer.decode(item["ids"].get<Ids>(), true), item["skip"].get<std::string>()) << item["ids"];
}

}  // namespace inkstone::text
