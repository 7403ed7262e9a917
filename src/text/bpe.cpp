// Building the tables of byte-level BPE, and looking up in them. The merging itself is in bpe_merge.cpp.
#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "text/byte_level.h"

namespace inkstone::text {
namespace {

Error malformed(std::string subject, std::string message) {
    return {ErrorCode::malformed, "tokenizer", std::move(subject), std::move(message)};
}

std::string quoted(std::string_view text) {
    std::string out(1, '"');
    out += text;
    out += '"';
    return out;
}

}  // namespace

Result<Bpe> Bpe::build(const TokenizerDefinition& definition, const std::string& file) {
    Bpe out;
    INKSTONE_CHECK(out.add_vocabulary(definition, file));
    INKSTONE_CHECK(out.add_added_tokens(definition, file));
    INKSTONE_CHECK(out.add_merges(definition.model, file));
    INKSTONE_CHECK(out.set_bytes(definition.model, file));
    out.ignore_merges_ = definition.model.ignore_merges;
    return out;
}

Status Bpe::place(std::int64_t id, std::string_view bytes, const std::string& key) {
    if (id < 0 || id >= id_limit_)
        return malformed(key, "has the id " + std::to_string(id) + ", expected 0 to " + std::to_string(id_limit_ - 1) +
                                  ": ids may have gaps, but no more than the file has tokens");
    const auto index = static_cast<std::size_t>(id);
    if (index >= tokens_.size()) tokens_.resize(index + 1);
    if (tokens_[index].used)
        return malformed(key, "has the id " + std::to_string(id) + ", which the token " +
                                  quoted(bytes_of(static_cast<std::int32_t>(id))) + " has already");
    tokens_[index] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(bytes.size()), true, false};
    bytes_ += bytes;
    return {};
}

Status Bpe::add_vocabulary(const TokenizerDefinition& definition, const std::string& file) {
    const auto& vocabulary = definition.model.vocabulary;
    if (vocabulary.empty()) return malformed(file + ": model.vocab", "has 0 tokens, expected at least 1");
    const std::size_t count = vocabulary.size() + definition.added_tokens.size();
    id_limit_ = static_cast<std::int64_t>(2 * count + 1024);
    tokens_.reserve(count);
    slots_.assign(std::bit_ceil(2 * vocabulary.size()), Slot{});
    constexpr std::int64_t kSmallestId = std::numeric_limits<std::int64_t>::min();
    std::vector<std::pair<std::string_view, std::int64_t>> added;  // by content, sorted
    for (const AddedTokenDefinition& token : definition.added_tokens) added.emplace_back(token.content, token.id);
    std::sort(added.begin(), added.end());
    std::string bytes;
    for (const VocabularyEntry& entry : vocabulary) {
        const auto key = [&] { return file + ": model.vocab[" + quoted(entry.token) + "]"; };
        bytes.clear();
        if (append_token_bytes(entry.token, bytes)) {
            // Control and filler tokens are listed in the vocabulary as they are. Words never reach them, and they
            // decode to their own text, as with Hugging Face.
            const auto found = std::lower_bound(added.begin(), added.end(), std::pair(entry.token, kSmallestId));
            if (found != added.end() && found->first == entry.token && found->second != entry.id)
                return Error{ErrorCode::mismatch, "tokenizer", key(),
                             "has the id " + std::to_string(entry.id) + ", but " + std::to_string(found->second) +
                                 " in added_tokens"};
            INKSTONE_CHECK(place(entry.id, entry.token, key()));
            continue;
        }
        if (const auto present = id_of(bytes))
            return malformed(
                key(), "stands twice, with the ids " + std::to_string(*present) + " and " + std::to_string(entry.id));
        // The key is text that only an error needs; making it for each of 120 000 tokens would take longer than the
        // rest.
        if (entry.id < 0 || entry.id >= id_limit_ ||
            (static_cast<std::size_t>(entry.id) < tokens_.size() && tokens_[static_cast<std::size_t>(entry.id)].used))
            return place(entry.id, bytes, key());
        INKSTONE_CHECK(place(entry.id, bytes, {}));
        const std::uint64_t hashed = hash(bytes);
        std::size_t slot = hashed & (slots_.size() - 1);
        while (slots_[slot].id >= 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = {static_cast<std::uint32_t>(hashed >> 32U), static_cast<std::int32_t>(entry.id)};
    }
    return {};
}

Status Bpe::add_added_tokens(const TokenizerDefinition& definition, const std::string& file) {
    std::size_t index = 0;
    for (const AddedTokenDefinition& added : definition.added_tokens) {
        const std::string key = file + ": added_tokens[" + std::to_string(index++) + "] " + quoted(added.content);
        // Decoded text has the bytes of the alphabet where the content is of it, as Hugging Face's decoder.
        std::string bytes;
        const bool of_alphabet = !append_token_bytes(added.content, bytes);
        if (!of_alphabet) bytes = added.content;
        if (of_alphabet) {
            if (const auto present = id_of(bytes); present && *present != added.id)
                return Error{
                    ErrorCode::mismatch, "tokenizer", key,
                    "has the id " + std::to_string(added.id) + ", but " + std::to_string(*present) + " in model.vocab"};
        }
        const bool in_vocabulary = added.id >= 0 && added.id < static_cast<std::int64_t>(tokens_.size()) &&
                                   tokens_[static_cast<std::size_t>(added.id)].used &&
                                   bytes_of(static_cast<std::int32_t>(added.id)) == bytes;
        if (!in_vocabulary) INKSTONE_CHECK(place(added.id, bytes, key));
        tokens_[static_cast<std::size_t>(added.id)].special = added.special;
    }
    return {};
}

Status Bpe::add_merges(const BpeDefinition& model, const std::string& file) {
    merges_.reserve(model.merges.size());
    std::string bytes;
    for (std::uint32_t rank = 0; rank < model.merges.size(); ++rank) {
        const MergeDefinition& merge = model.merges[rank];
        const auto key = [&] { return file + ": model.merges[" + std::to_string(rank) + "]"; };
        bytes.clear();
        bool of_alphabet = !append_token_bytes(merge.left, bytes);
        const std::size_t left_size = bytes.size();
        of_alphabet = of_alphabet && !append_token_bytes(merge.right, bytes);
        const std::string_view whole = bytes;
        const auto left = of_alphabet ? id_of(whole.substr(0, left_size)) : std::nullopt;
        const auto right = of_alphabet ? id_of(whole.substr(left_size)) : std::nullopt;
        const auto id = of_alphabet ? id_of(whole) : std::nullopt;
        if (!left || !right || !id)
            return malformed(key(), "joins " + quoted(merge.left) + " and " + quoted(merge.right) + ", but " +
                                        (!left    ? "the first"
                                         : !right ? "the second"
                                                  : "what they make") +
                                        " is not among the " + std::to_string(model.vocabulary.size()) +
                                        " tokens of model.vocab");
        if (const Merge* present =
                merges_.insert(static_cast<std::uint32_t>(*left), static_cast<std::uint32_t>(*right), {rank, *id}))
            return malformed(key(), "joins " + quoted(merge.left) + " and " + quoted(merge.right) +
                                        ", as model.merges[" + std::to_string(present->rank) + "] does already");
    }
    return {};
}

// What single bytes become, and what becomes of those that the vocabulary lacks.
Status Bpe::set_bytes(const BpeDefinition& model, const std::string& file) {
    bool all_bytes = true;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const auto id = id_of({&c, 1});
        byte_ids_[byte] = id.value_or(-1);
        if (!id) all_bytes = false;
        if (id && is_special(*id))
            return Error{ErrorCode::unsupported, "tokenizer", file + ": added_tokens",
                         "the special token " + std::to_string(*id) + " is also the token of byte " +
                             std::to_string(byte) + ": text with that byte could not be told from it"};
    }
    if (all_bytes) return {};
    if (model.byte_fallback)
        return Error{ErrorCode::unsupported, "tokenizer", file + ": model.byte_fallback",
                     "is true and the vocabulary lacks some of the 256 bytes: only a full byte-level alphabet works"};
    if (!model.unknown_token) return {};
    std::string bytes;
    if (!append_token_bytes(*model.unknown_token, bytes)) unknown_id_ = id_of(bytes);
    if (!unknown_id_)
        return malformed(file + ": model.unk_token",
                         "is " + quoted(*model.unknown_token) + ", which is not among the " +
                             std::to_string(model.vocabulary.size()) + " tokens of model.vocab");
    fuse_unknown_ = model.fuse_unknown;
    return {};
}

// Eight bytes at a time, mixed by multiplication; the length keeps "a" and "a\0" apart.
std::uint64_t Bpe::hash(std::string_view bytes) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    std::uint64_t state = bytes.size() * kOdd;
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const std::size_t count = std::min<std::size_t>(8, bytes.size());
        std::memcpy(&word, bytes.data(), count);
        state = (std::rotl(state, 23) ^ word) * kOdd;
        state ^= state >> 32U;
        bytes.remove_prefix(count);
    }
    return state;
}

std::optional<std::int32_t> Bpe::id_of(std::string_view bytes) const {
    const std::uint64_t hashed = hash(bytes);
    const auto tag = static_cast<std::uint32_t>(hashed >> 32U);
    for (std::size_t i = hashed & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
        const Slot slot = slots_[i];
        if (slot.id < 0) return std::nullopt;
        if (slot.tag == tag && bytes_of(slot.id) == bytes) return slot.id;
    }
}

std::string_view Bpe::bytes_of(std::int32_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) return {};
    const Token& token = tokens_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(token.offset, token.length);
}

bool Bpe::is_special(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < tokens_.size() && tokens_[static_cast<std::size_t>(id)].special;
}

}  // namespace inkstone::text
