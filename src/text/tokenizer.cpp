// The way of a text: added tokens cut out → normalizer → added tokens of normalized text cut out → pre-tokenizer → BPE.
#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_json.h"

namespace inkstone::text {
namespace {

constexpr std::size_t kFileLimitBytes = std::size_t{256} << 20U;
constexpr std::size_t kTextLimitBytes = std::size_t{1} << 30U;  // positions inside a word are 32 bits

}  // namespace

struct Tokenizer::Tables {
    Bpe bpe;
    Normalizer normalizer;
    PreTokenizer pre_tokenizer;
    AddedTokens added_tokens;                                     // looked for in the text as it came
    AddedTokens normalized_added_tokens;                          // looked for after the normalizer
    std::vector<std::pair<std::string, std::int32_t>> added_ids;  // by content, sorted

    Status add_tokens(const TokenizerDefinition& definition, const std::string& name);
    // Text without raw added tokens; appends its ids.
    Status encode_text(std::string_view text, bool special_as_text, std::vector<std::int32_t>& out) const;
    // Normalized text without any added token.
    Status encode_words(std::string_view text, bool special_as_text, std::vector<std::int32_t>& out) const;
};

Status Tokenizer::Tables::add_tokens(const TokenizerDefinition& definition, const std::string& name) {
    std::size_t index = 0;
    for (const AddedTokenDefinition& added : definition.added_tokens) {
        const std::string key = name + ": added_tokens[" + std::to_string(index++) + "]";
        const AddedToken token{static_cast<std::int32_t>(added.id), added.special, added.single_word, added.lstrip,
                               added.rstrip};
        std::string content(added.content);
        added_ids.emplace_back(content, token.id);
        if (added.normalized) INKSTONE_CHECK(normalizer.apply(content));
        AddedTokens& group = added.normalized ? normalized_added_tokens : added_tokens;
        if (content.empty() || !group.add(content, token))
            return Error{
                ErrorCode::malformed, "tokenizer", key,
                std::string(content.empty() ? "is empty when normalized: " : "has the content of a token before it: ") +
                    std::string(added.content) + " with the id " + std::to_string(added.id)};
    }
    std::sort(added_ids.begin(), added_ids.end());
    const auto twice = std::adjacent_find(added_ids.begin(), added_ids.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == added_ids.end()) return {};
    return Error{ErrorCode::malformed, "tokenizer", name + ": added_tokens",
                 "has the content " + twice->first + " twice, with the ids " + std::to_string(twice->second) + " and " +
                     std::to_string(std::next(twice)->second)};
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& tokenizer_json) {
    INKSTONE_TRY(std::string text, read_text_file(tokenizer_json, kFileLimitBytes, "tokenizer"));
    return parse(std::move(text), tokenizer_json.string());
}

Result<Tokenizer> Tokenizer::parse(std::string tokenizer_json, const std::string& name) {
    INKSTONE_TRY(const TokenizerDefinition definition, parse_tokenizer_json(std::move(tokenizer_json), name));
    auto tables = std::make_unique<Tables>();
    INKSTONE_TRY(tables->bpe, Bpe::build(definition, name));
    INKSTONE_TRY(tables->normalizer, Normalizer::build(definition.normalizers));
    INKSTONE_TRY(tables->pre_tokenizer, PreTokenizer::build(definition.pre_tokenizer));
    INKSTONE_CHECK(tables->add_tokens(definition, name));
    return Tokenizer(std::move(tables));
}

Tokenizer::Tokenizer(std::unique_ptr<const Tables> tables) : tables_(std::move(tables)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view utf8, Specials specials) const {
    if (utf8.size() > kTextLimitBytes)
        return Error{ErrorCode::invalid_argument, "tokenizer", "text",
                     "has " + std::to_string(utf8.size()) + " bytes, more than the " + std::to_string(kTextLimitBytes) +
                         " that can be encoded at once: encode it in parts"};
    std::string replaced;
    if (!is_valid_utf8(utf8)) {
        replaced = replace_invalid_utf8(utf8);
        utf8 = replaced;
    }
    const bool special_as_text = specials == Specials::as_text;
    std::vector<std::int32_t> ids;
    ids.reserve(utf8.size() / 3);
    std::vector<TokenOrText> parts;
    tables_->added_tokens.split(utf8, special_as_text, parts);
    for (const TokenOrText& part : parts) {
        if (part.id >= 0)
            ids.push_back(part.id);
        else
            INKSTONE_CHECK(tables_->encode_text(utf8.substr(part.range.begin, part.range.end - part.range.begin),
                                                special_as_text, ids));
    }
    return ids;
}

Status Tokenizer::Tables::encode_text(std::string_view text, bool special_as_text,
                                      std::vector<std::int32_t>& out) const {
    std::string normalized;
    if (!normalizer.empty()) {
        normalized = text;
        INKSTONE_CHECK(normalizer.apply(normalized));
        text = normalized;
    }
    if (normalized_added_tokens.empty()) return encode_words(text, special_as_text, out);
    std::vector<TokenOrText> parts;
    normalized_added_tokens.split(text, special_as_text, parts);
    for (const TokenOrText& part : parts) {
        if (part.id >= 0)
            out.push_back(part.id);
        else
            INKSTONE_CHECK(
                encode_words(text.substr(part.range.begin, part.range.end - part.range.begin), special_as_text, out));
    }
    return {};
}

Status Tokenizer::Tables::encode_words(std::string_view text, bool special_as_text,
                                       std::vector<std::int32_t>& out) const {
    std::string spaced(text);
    std::vector<Range> words;
    INKSTONE_CHECK(pre_tokenizer.split(spaced, words));
    for (const Range word : words)
        bpe.encode(std::string_view(spaced).substr(word.begin, word.end - word.begin), special_as_text, out);
    return {};
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
    std::string bytes;
    for (const std::int32_t id : ids)
        if (!skip_special || !is_special(id)) bytes += token_bytes(id);
    return is_valid_utf8(bytes) ? bytes : replace_invalid_utf8(bytes);
}

std::optional<std::int32_t> Tokenizer::token_id(std::string_view token) const {
    const auto& added = tables_->added_ids;
    const auto found =
        std::lower_bound(added.begin(), added.end(), token,
                         [](const auto& entry, std::string_view content) { return entry.first < content; });
    if (found != added.end() && found->first == token) return found->second;
    return tables_->bpe.id_of(token);
}

std::string_view Tokenizer::token_bytes(std::int32_t id) const { return tables_->bpe.bytes_of(id); }

bool Tokenizer::is_special(std::int32_t id) const { return tables_->bpe.is_special(id); }

std::size_t Tokenizer::vocabulary_size() const { return tables_->bpe.size(); }

}  // namespace inkstone::text
