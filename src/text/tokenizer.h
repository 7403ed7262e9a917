// Text to token ids and back, by a Hugging Face tokenizer.json of the byte-level BPE kind, with the same ids as
// Hugging Face's tokenizers. Called by runtime/ (prompts) and, through Detokenizer, by generate/ (streaming).
//
//     INKSTONE_TRY(const auto tokenizer, Tokenizer::load(model_dir / "tokenizer.json"));
//     INKSTONE_TRY(const auto ids, tokenizer.encode(user_text, Specials::as_text));
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inkstone::text {

// What the text of a special token ("<|im_end|>") means inside a text to encode.
enum class Specials {
    as_text,  // ordinary characters: for everything that a user, a file or a picture supplied; no special id comes out
    recognised,  // the token: for text that the chat template itself wrote
};

// Immutable: any number of threads may use one tokenizer. Movable, not copyable.
class Tokenizer {
public:
    // Reads the file (at most 256 MiB, not trusted). Errors: not_found, io, malformed (not JSON, a wrong type, an id or
    // token twice, an id out of bounds, a merge of unknown tokens), mismatch (an added token whose id contradicts the
    // vocabulary), unsupported (a component or option that is not byte-level BPE), each naming file and key.
    static Result<Tokenizer> load(const std::filesystem::path& tokenizer_json);
    // The same from the file's text; `name` stands for the file in messages.
    static Result<Tokenizer> parse(std::string tokenizer_json, const std::string& name);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    // The ids of a text, without special tokens of its own at the ends. Bytes that are not UTF-8 are read as U+FFFD.
    // Added tokens that are not special are found in the text in both modes. Errors: invalid_argument (over 1 GiB),
    // unsupported (a pattern of the file takes too many steps on this text), out_of_memory.
    Result<std::vector<std::int32_t>> encode(std::string_view utf8, Specials specials) const;

    // The text of ids: valid UTF-8, bad bytes as U+FFFD. Ids without a token give nothing; special tokens give nothing
    // when `skip_special`.
    std::string decode(std::span<const std::int32_t> ids, bool skip_special) const;

    // The id of an added token by its content, or of a token of the vocabulary by its bytes (" word", not "Ġword").
    std::optional<std::int32_t> token_id(std::string_view token) const;
    // The bytes that an id adds to decoded text; not always whole characters. Empty for an id without token. The view
    // lives as long as the tokenizer, also when that is moved.
    std::string_view token_bytes(std::int32_t id) const;
    // Whether the id is of an added token marked special. False for an id without token.
    bool is_special(std::int32_t id) const;
    // Largest id + 1, added tokens included. There may be ids below it without a token.
    std::size_t vocabulary_size() const;

private:
    struct Tables;
    explicit Tokenizer(std::unique_ptr<const Tables> tables);
    std::unique_ptr<const Tables> tables_;
};

}  // namespace inkstone::text
