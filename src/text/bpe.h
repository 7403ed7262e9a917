// Byte-level BPE: the vocabulary and the merges in a few flat arrays, and the merging of one word. Tokens are held as
// raw bytes, decoded once from the byte-level alphabet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/pair_table.h"
#include "text/tokenizer_definition.h"

namespace inkstone::text {

// Immutable after build; used by any number of threads.
class Bpe {
public:
    // Takes vocabulary, merges and added tokens; `file` names the file in messages. Errors: malformed (an id twice, a
    // token twice, an id out of bounds, a merge of unknown tokens),
    // mismatch (an added token whose id differs from its id in the vocabulary), unsupported.
    static Result<Bpe> build(const TokenizerDefinition& definition, const std::string& file);

    // Appends the ids of one word (any bytes). With `special_as_text` no id of a special token is ever produced.
    void encode(std::string_view word, bool special_as_text, std::vector<std::int32_t>& out) const;

    // The id of a token of the vocabulary, by its bytes.
    std::optional<std::int32_t> id_of(std::string_view bytes) const;
    // The bytes that an id stands for in decoded text; empty for an id without token.
    std::string_view bytes_of(std::int32_t id) const;
    bool is_special(std::int32_t id) const;
    // Largest id + 1.
    std::size_t size() const { return tokens_.size(); }

private:
    struct Token {
        std::uint32_t offset = 0;  // into bytes_
        std::uint32_t length = 0;
        bool used = false;
        bool special = false;
    };
    struct Slot {
        std::uint32_t tag = 0;  // high half of the hash: tokens are compared only where it agrees
        std::int32_t id = -1;
    };
    struct Merge {
        std::uint32_t rank = 0;
        std::int32_t id = 0;
    };

    Status add_vocabulary(const TokenizerDefinition& definition, const std::string& file);
    Status add_added_tokens(const TokenizerDefinition& definition, const std::string& file);
    Status add_merges(const BpeDefinition& model, const std::string& file);
    Status set_bytes(const BpeDefinition& model, const std::string& file);
    Status place(std::int64_t id, std::string_view bytes, const std::string& key);
    static std::uint64_t hash(std::string_view bytes);
    const Merge* find_merge(std::int32_t left, std::int32_t right, bool special_as_text) const;
    void initial_ids(std::string_view word, std::vector<std::int32_t>& out) const;
    void merge_short(std::vector<std::int32_t>& ids, std::size_t first, bool special_as_text) const;
    void merge_long(std::vector<std::int32_t>& ids, std::size_t first, bool special_as_text) const;

    std::string bytes_;          // of all tokens, one after another
    std::vector<Token> tokens_;  // by id
    std::vector<Slot> slots_;    // open addressing by the hash of the bytes, at most half full
    PairTable<Merge> merges_;
    std::int32_t byte_ids_[256];  // -1: not in the vocabulary
    std::int64_t id_limit_ = 0;
    std::optional<std::int32_t> unknown_id_;
    bool fuse_unknown_ = false;
    bool ignore_merges_ = false;
};

}  // namespace inkstone::text
