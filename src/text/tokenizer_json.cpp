// tokenizer.json by simdjson's document model: each component has a list of the keys that it may have.
#include "text/tokenizer_json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace inkstone::text {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr int kNestingLimit = 8;  // of sequences in sequences

std::string_view name_of(element_type type) {
    switch (type) {
        case element_type::ARRAY:
            return "an array";
        case element_type::OBJECT:
            return "an object";
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE:
            return "a number";
        case element_type::STRING:
            return "a string";
        case element_type::BOOL:
            return "a boolean";
        case element_type::NULL_VALUE:
            return "null";
    }
    return "of no known type";
}

class Reader {
public:
    Reader(const std::string& file, TokenizerDefinition& out) : file_(file), out_(out) {}

    Status read(element root) {
        INKSTONE_TRY(const object top, as_object(root, "the document"));
        INKSTONE_CHECK(check_keys(top, "the document",
                                  {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                                   "post_processor", "decoder", "model"}));
        if (element value; top["added_tokens"].get(value) == simdjson::SUCCESS) INKSTONE_CHECK(added_tokens(value));
        if (element value; present(top, "normalizer", value)) INKSTONE_CHECK(normalizer(value, "normalizer", 0));
        element value;
        if (!present(top, "pre_tokenizer", value))
            return unsupported("pre_tokenizer", "is null, expected one that ends in ByteLevel");
        bool byte_level = false;
        INKSTONE_CHECK(pre_tokenizer(value, "pre_tokenizer", byte_level, 0));
        if (!byte_level)
            return unsupported("pre_tokenizer", "has no ByteLevel at its end: only byte-level BPE is supported");
        if (present(top, "post_processor", value)) INKSTONE_CHECK(post_processor(value, "post_processor", 0));
        if (!present(top, "decoder", value)) return unsupported("decoder", "is null, expected ByteLevel");
        INKSTONE_CHECK(decoder(value));
        if (!present(top, "model", value)) return malformed("model", "is missing");
        return model(value);
    }

private:
    Error malformed(std::string_view key, std::string message) const {
        return {ErrorCode::malformed, "tokenizer", file_ + ": " + std::string(key), std::move(message)};
    }
    Error unsupported(std::string_view key, std::string message) const {
        return {ErrorCode::unsupported, "tokenizer", file_ + ": " + std::string(key), std::move(message)};
    }
    Error wrong_type(std::string_view key, element value, std::string_view expected) const {
        return malformed(key, "is " + std::string(name_of(value.type())) + ", expected " + std::string(expected));
    }

    // Whether the key is there and not null.
    static bool present(object from, std::string_view key, element& value) {
        return from[key].get(value) == simdjson::SUCCESS && !value.is_null();
    }

    Result<object> as_object(element value, std::string_view key) const {
        object out;
        if (value.get(out) != simdjson::SUCCESS) return wrong_type(key, value, "an object");
        return out;
    }
    Result<array> as_array(element value, std::string_view key) const {
        array out;
        if (value.get(out) != simdjson::SUCCESS) return wrong_type(key, value, "an array");
        return out;
    }
    Result<std::string_view> string_at(object from, std::string_view key, const std::string& path) const {
        element value;
        if (from[key].get(value) != simdjson::SUCCESS) return malformed(path + "." + std::string(key), "is missing");
        std::string_view out;
        if (value.get(out) != simdjson::SUCCESS) return wrong_type(path + "." + std::string(key), value, "a string");
        return out;
    }
    Result<bool> flag_at(object from, std::string_view key, const std::string& path, bool default_value) const {
        element value;
        if (!present(from, key, value)) return default_value;
        bool out = false;
        if (value.get(out) != simdjson::SUCCESS) return wrong_type(path + "." + std::string(key), value, "a boolean");
        return out;
    }
    Result<std::int64_t> id_of(element value, const std::string& path) const {
        std::int64_t out = 0;
        if (value.get(out) != simdjson::SUCCESS) return wrong_type(path, value, "an id: a whole number below 2^63");
        return out;
    }

    // Every key is of the list, none stands twice.
    Status check_keys(object from, const std::string& path, std::initializer_list<std::string_view> known) const {
        std::vector<bool> seen(known.size());
        for (const auto field : from) {
            const auto* const found = std::find(known.begin(), known.end(), field.key);
            if (found == known.end())
                return unsupported(path, "has the key \"" + std::string(field.key) + "\", which is not known here");
            const auto index = static_cast<std::size_t>(found - known.begin());
            if (seen[index]) return malformed(path, "has the key \"" + std::string(field.key) + "\" twice");
            seen[index] = true;
        }
        return {};
    }

    // Calls `item(element, path)` for each member of the array at from[key].
    template <class Item>
    Status each(object from, std::string_view key, const std::string& path, int depth, Item item) const {
        const std::string list_path = path + "." + std::string(key);
        if (depth >= kNestingLimit)
            return malformed(list_path, "is nested deeper than " + std::to_string(kNestingLimit) + " sequences");
        element value;
        if (from[key].get(value) != simdjson::SUCCESS) return malformed(list_path, "is missing");
        INKSTONE_TRY(const array list, as_array(value, list_path));
        std::size_t index = 0;
        for (const element member : list) INKSTONE_CHECK(item(member, list_path + "[" + std::to_string(index++) + "]"));
        return {};
    }

    Status added_tokens(element value) {
        INKSTONE_TRY(const array list, as_array(value, "added_tokens"));
        for (const element member : list) {
            const std::string path = "added_tokens[" + std::to_string(out_.added_tokens.size()) + "]";
            INKSTONE_TRY(const object token, as_object(member, path));
            INKSTONE_CHECK(
                check_keys(token, path, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
            AddedTokenDefinition definition;
            element id;
            if (token["id"].get(id) != simdjson::SUCCESS) return malformed(path + ".id", "is missing");
            INKSTONE_TRY(definition.id, id_of(id, path + ".id"));
            INKSTONE_TRY(definition.content, string_at(token, "content", path));
            if (definition.content.empty()) return malformed(path + ".content", "is empty");
            INKSTONE_TRY(definition.single_word, flag_at(token, "single_word", path, false));
            INKSTONE_TRY(definition.lstrip, flag_at(token, "lstrip", path, false));
            INKSTONE_TRY(definition.rstrip, flag_at(token, "rstrip", path, false));
            INKSTONE_TRY(definition.special, flag_at(token, "special", path, false));
            INKSTONE_TRY(definition.normalized, flag_at(token, "normalized", path, !definition.special));
            out_.added_tokens.push_back(definition);
        }
        return {};
    }

    // {"String": "..."} or {"Regex": "..."}
    Result<PatternDefinition> pattern_at(object from, const std::string& path) const {
        element value;
        if (from["pattern"].get(value) != simdjson::SUCCESS) return malformed(path + ".pattern", "is missing");
        INKSTONE_TRY(const object pattern, as_object(value, path + ".pattern"));
        INKSTONE_CHECK(check_keys(pattern, path + ".pattern", {"String", "Regex"}));
        if (pattern.size() != 1)
            return malformed(path + ".pattern",
                             "has " + std::to_string(pattern.size()) + " keys, expected 1: String or Regex");
        PatternDefinition out;
        out.is_regex = pattern["Regex"].error() == simdjson::SUCCESS;
        INKSTONE_TRY(out.text, string_at(pattern, out.is_regex ? "Regex" : "String", path + ".pattern"));
        return out;
    }

    Status normalizer(element value, const std::string& path, int depth) {
        using Kind = NormalizerDefinition::Kind;
        INKSTONE_TRY(const object step, as_object(value, path));
        INKSTONE_TRY(const std::string_view type, string_at(step, "type", path));
        NormalizerDefinition definition;
        definition.key = file_ + ": " + path;
        if (type == "Sequence") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "normalizers"}));
            return each(step, "normalizers", path, depth, [&](element member, const std::string& member_path) {
                return normalizer(member, member_path, depth + 1);
            });
        }
        if (type == "Prepend") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "prepend"}));
            definition.kind = Kind::prepend;
            INKSTONE_TRY(definition.text, string_at(step, "prepend", path));
        } else if (type == "Replace") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "pattern", "content"}));
            definition.kind = Kind::replace;
            INKSTONE_TRY(definition.pattern, pattern_at(step, path));
            INKSTONE_TRY(definition.text, string_at(step, "content", path));
        } else {
            constexpr std::array<std::pair<std::string_view, NormalForm>, 4> kForms = {{{"NFC", NormalForm::nfc},
                                                                                        {"NFD", NormalForm::nfd},
                                                                                        {"NFKC", NormalForm::nfkc},
                                                                                        {"NFKD", NormalForm::nfkd}}};
            const auto* const form =
                std::find_if(kForms.begin(), kForms.end(), [&](const auto& entry) { return entry.first == type; });
            if (form == kForms.end())
                return unsupported(path, "is of type \"" + std::string(type) +
                                             "\", expected NFC, NFD, NFKC, NFKD, Prepend, Replace or Sequence");
            INKSTONE_CHECK(check_keys(step, path, {"type"}));
            definition.form = form->second;
        }
        out_.normalizers.push_back(std::move(definition));
        return {};
    }

    Status pre_tokenizer(element value, const std::string& path, bool& byte_level, int depth) {
        INKSTONE_TRY(const object step, as_object(value, path));
        INKSTONE_TRY(const std::string_view type, string_at(step, "type", path));
        if (type == "Sequence") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "pretokenizers"}));
            return each(step, "pretokenizers", path, depth, [&](element member, const std::string& member_path) {
                return pre_tokenizer(member, member_path, byte_level, depth + 1);
            });
        }
        if (byte_level) return unsupported(path, "follows ByteLevel, which must be the last step");
        SplitDefinition split;
        split.key = file_ + ": " + path;
        if (type == "Split") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "pattern", "behavior", "invert"}));
            INKSTONE_TRY(split.pattern, pattern_at(step, path));
            INKSTONE_TRY(split.behavior, behavior_at(step, path));
            INKSTONE_TRY(split.invert, flag_at(step, "invert", path, false));
        } else if (type == "Digits") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "individual_digits"}));
            INKSTONE_TRY(const bool individual, flag_at(step, "individual_digits", path, false));
            split.pattern = {true, individual ? "\\p{N}" : "\\p{N}+"};
        } else if (type == "ByteLevel") {
            INKSTONE_CHECK(check_keys(step, path, {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
            INKSTONE_TRY(out_.pre_tokenizer.add_prefix_space, flag_at(step, "add_prefix_space", path, true));
            INKSTONE_TRY(out_.pre_tokenizer.byte_level_regex, flag_at(step, "use_regex", path, true));
            // trim_offsets moves offsets of tokens into the text, which are not given here.
            INKSTONE_TRY([[maybe_unused]] const bool trim_offsets, flag_at(step, "trim_offsets", path, true));
            byte_level = true;
            return {};
        } else {
            return unsupported(
                path, "is of type \"" + std::string(type) + "\", expected Split, Digits, ByteLevel or Sequence");
        }
        out_.pre_tokenizer.splits.push_back(std::move(split));
        return {};
    }

    Result<SplitBehavior> behavior_at(object step, const std::string& path) const {
        INKSTONE_TRY(const std::string_view name, string_at(step, "behavior", path));
        if (name == "Isolated") return SplitBehavior::isolated;
        if (name == "Removed") return SplitBehavior::removed;
        if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
        if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
        if (name == "Contiguous") return SplitBehavior::contiguous;
        return unsupported(path + ".behavior",
                           "is \"" + std::string(name) +
                               "\", expected Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
    }

    // Checked by name only: these add special tokens or move offsets.
    Status post_processor(element value, const std::string& path, int depth) const {
        INKSTONE_TRY(const object step, as_object(value, path));
        INKSTONE_TRY(const std::string_view type, string_at(step, "type", path));
        if (type == "Sequence")
            return each(step, "processors", path, depth, [&](element member, const std::string& member_path) {
                return post_processor(member, member_path, depth + 1);
            });
        if (type == "ByteLevel" || type == "TemplateProcessing") return {};
        return unsupported(
            path, "is of type \"" + std::string(type) + "\", expected ByteLevel, TemplateProcessing or Sequence");
    }

    // ByteLevel, or a sequence of ByteLevel and then Fuse, which joins what is one text already.
    Status decoder(element value) const {
        INKSTONE_TRY(const object step, as_object(value, "decoder"));
        INKSTONE_TRY(const std::string_view type, string_at(step, "type", "decoder"));
        if (type == "ByteLevel") return {};
        if (type != "Sequence")
            return unsupported("decoder", "is of type \"" + std::string(type) + "\", expected ByteLevel");
        bool byte_level = false;
        INKSTONE_CHECK(each(step, "decoders", "decoder", 0, [&](element member, const std::string& path) -> Status {
            INKSTONE_TRY(const object part, as_object(member, path));
            INKSTONE_TRY(const std::string_view name, string_at(part, "type", path));
            if (name != (byte_level ? "Fuse" : "ByteLevel"))
                return unsupported(
                    path, "is of type \"" + std::string(name) + "\", expected " + (byte_level ? "Fuse" : "ByteLevel"));
            byte_level = true;
            return {};
        }));
        if (!byte_level) return unsupported("decoder", "is empty, expected ByteLevel");
        return {};
    }

    Status model(element value) {
        INKSTONE_TRY(const object model, as_object(value, "model"));
        INKSTONE_CHECK(check_keys(model, "model",
                                  {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                                   "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
        INKSTONE_TRY(const std::string_view type, string_at(model, "type", "model"));
        if (type != "BPE") return unsupported("model.type", "is \"" + std::string(type) + "\", expected BPE");
        if (element dropout; present(model, "dropout", dropout)) {
            double probability = 0;
            if (dropout.get(probability) != simdjson::SUCCESS) return wrong_type("model.dropout", dropout, "a number");
            if (probability != 0)
                return unsupported("model.dropout", "is " + std::to_string(probability) + ", expected null or 0");
        }
        for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            element affix;
            if (!present(model, key, affix)) continue;
            INKSTONE_TRY(const std::string_view text, string_at(model, key, "model"));
            if (!text.empty())
                return unsupported("model." + std::string(key), "is \"" + std::string(text) + "\", expected none");
        }
        if (element unknown; present(model, "unk_token", unknown)) {
            INKSTONE_TRY(out_.model.unknown_token, string_at(model, "unk_token", "model"));
        }
        INKSTONE_TRY(out_.model.fuse_unknown, flag_at(model, "fuse_unk", "model", false));
        INKSTONE_TRY(out_.model.byte_fallback, flag_at(model, "byte_fallback", "model", false));
        INKSTONE_TRY(out_.model.ignore_merges, flag_at(model, "ignore_merges", "model", false));
        element part;
        if (!present(model, "vocab", part)) return malformed("model.vocab", "is missing");
        INKSTONE_CHECK(vocabulary(part));
        if (!present(model, "merges", part)) return malformed("model.merges", "is missing");
        return merges(part);
    }

    Status vocabulary(element value) {
        INKSTONE_TRY(const object vocabulary, as_object(value, "model.vocab"));
        for (const auto field : vocabulary) {
            std::int64_t id = 0;
            if (field.value.get(id) != simdjson::SUCCESS)
                return wrong_type("model.vocab[\"" + std::string(field.key) + "\"]", field.value,
                                  "an id: a whole number below 2^63");
            out_.model.vocabulary.push_back({field.key, id});
        }
        return {};
    }

    // Each merge is "left right" or ["left", "right"].
    Status merges(element value) {
        INKSTONE_TRY(const array merges, as_array(value, "model.merges"));
        std::size_t index = 0;
        for (const element member : merges) {
            const auto path = [&] { return "model.merges[" + std::to_string(index) + "]"; };
            MergeDefinition merge;
            std::string_view line;
            if (member.get(line) == simdjson::SUCCESS) {
                const std::size_t space = line.find(' ');
                if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
                    return malformed(path(), "is \"" + std::string(line) + "\", expected two tokens with one space");
                merge = {line.substr(0, space), line.substr(space + 1)};
            } else {
                INKSTONE_TRY(const array pair, as_array(member, path()));
                if (pair.size() != 2)
                    return malformed(path(), "has " + std::to_string(pair.size()) + " tokens, expected 2");
                if (pair.at(0).get(merge.left) != simdjson::SUCCESS || pair.at(1).get(merge.right) != simdjson::SUCCESS)
                    return malformed(path(), "has a member that is not a string");
            }
            out_.model.merges.push_back(merge);
            ++index;
        }
        return {};
    }

    const std::string& file_;
    TokenizerDefinition& out_;
};

}  // namespace

Result<TokenizerDefinition> parse_tokenizer_json(std::string json, const std::string& file) {
    if (json.starts_with("\xEF\xBB\xBF"))
        return Error{ErrorCode::malformed, "tokenizer", file,
                     "begins with a byte order mark, expected JSON in UTF-8 without one; save it so"};
    const std::size_t size = json.size();
    auto parser = std::make_shared<simdjson::dom::parser>();
    json.reserve(size + simdjson::SIMDJSON_PADDING);
    element root;
    if (const auto error = parser->parse(json.data(), size, false).get(root); error != simdjson::SUCCESS)
        return Error{error == simdjson::MEMALLOC ? ErrorCode::out_of_memory : ErrorCode::malformed, "tokenizer", file,
                     "is not JSON in its " + std::to_string(size) + " bytes: " + simdjson::error_message(error)};
    TokenizerDefinition out;
    out.storage = parser;  // it owns the unescaped strings
    INKSTONE_CHECK(Reader(file, out).read(root));
    return out;
}

}  // namespace inkstone::text
