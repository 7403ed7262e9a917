// What a tokenizer.json says, as plain data: made by tokenizer_json.h, turned into a Tokenizer by tokenizer.cpp.
// Nothing here is checked against anything else yet; the views point into `storage`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace inkstone::text {

struct PatternDefinition {
    bool is_regex = false;  // otherwise a literal string
    std::string_view text;
};

struct NormalizerDefinition {
    enum class Kind { unicode, prepend, replace };
    Kind kind = Kind::unicode;
    NormalForm form = NormalForm::nfc;  // unicode
    std::string key;                    // where it stands in the file, for messages
    std::string_view text;              // what is put in: prepend, replace
    PatternDefinition pattern;          // replace
};

// What becomes of the matches of a split: the names of Hugging Face's SplitDelimiterBehavior.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

struct SplitDefinition {
    std::string key;
    PatternDefinition pattern;
    SplitBehavior behavior = SplitBehavior::isolated;
    bool invert = false;  // the text between matches is taken as the match
};

// The pre-tokenizer: splits in a row, then the byte level.
struct PreTokenizerDefinition {
    std::vector<SplitDefinition> splits;
    bool add_prefix_space = false;  // by the byte level, at the start of every piece
    bool byte_level_regex = true;   // the byte level then splits by GPT-2's pattern
};

struct AddedTokenDefinition {
    std::int64_t id = 0;
    std::string_view content;
    bool single_word = false;
    bool lstrip = false;
    bool rstrip = false;
    bool normalized = false;
    bool special = false;
};

struct VocabularyEntry {
    std::string_view token;  // in the byte-level alphabet
    std::int64_t id = 0;
};

struct MergeDefinition {
    std::string_view left;
    std::string_view right;
};

struct BpeDefinition {
    std::vector<VocabularyEntry> vocabulary;
    std::vector<MergeDefinition> merges;  // by rank
    std::optional<std::string_view> unknown_token;
    bool fuse_unknown = false;
    bool byte_fallback = false;
    bool ignore_merges = false;
};

struct TokenizerDefinition {
    std::shared_ptr<const void> storage;
    std::vector<NormalizerDefinition> normalizers;
    PreTokenizerDefinition pre_tokenizer;
    std::vector<AddedTokenDefinition> added_tokens;
    BpeDefinition model;
};

}  // namespace inkstone::text
