// Splits in a row over ranges of one text.
#include "text/pre_tokenizer.h"

#include <algorithm>

namespace inkstone::text {
namespace {

// GPT-2's pattern, which ByteLevel applies unless use_regex is false.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A part of the text that is a match or lies between matches.
struct Part {
    Range range;
    bool is_match;
};

// The matches and what lies between them; `invert` changes the two.
std::vector<Part> parts_of(std::size_t size, const std::vector<Range>& matches, bool invert) {
    std::vector<Part> parts;
    parts.reserve(2 * matches.size() + 1);
    std::size_t end = 0;
    for (const Range match : matches) {
        if (end != match.begin) parts.push_back({{end, match.begin}, invert});
        parts.push_back({match, !invert});
        end = match.end;
    }
    if (end != size) parts.push_back({{end, size}, invert});
    return parts;
}

// Appends the pieces that the behaviour makes of the parts; empty ones are left out by the caller.
void join(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<Range>& pieces) {
    const std::size_t first = pieces.size();
    bool previous = false;
    switch (behavior) {
        case SplitBehavior::isolated:
            for (const Part& part : parts) pieces.push_back(part.range);
            break;
        case SplitBehavior::removed:
            for (const Part& part : parts)
                if (!part.is_match) pieces.push_back(part.range);
            break;
        case SplitBehavior::contiguous:  // matches that touch are one piece
            for (const Part& part : parts) {
                if (part.is_match == previous && pieces.size() > first)
                    pieces.back().end = part.range.end;
                else
                    pieces.push_back(part.range);
                previous = part.is_match;
            }
            break;
        case SplitBehavior::merged_with_previous:  // a match ends the piece before it; a second match stands alone
            for (const Part& part : parts) {
                if (part.is_match && !previous && pieces.size() > first)
                    pieces.back().end = part.range.end;
                else
                    pieces.push_back(part.range);
                previous = part.is_match;
            }
            break;
        case SplitBehavior::merged_with_next:  // the same from the right
            for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
                if (part->is_match && !previous && pieces.size() > first)
                    pieces.back().begin = part->range.begin;
                else
                    pieces.push_back(part->range);
                previous = part->is_match;
            }
            std::reverse(pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end());
            break;
    }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::build(const PreTokenizerDefinition& definition) {
    PreTokenizer out;
    for (const SplitDefinition& split : definition.splits) {
        const auto compile = split.pattern.is_regex ? Regex::compile : Regex::literal;
        INKSTONE_TRY(Regex pattern, compile(split.pattern.text, split.key));
        out.splits_.push_back({std::move(pattern), split.behavior, split.invert});
    }
    out.add_prefix_space_ = definition.add_prefix_space;
    if (definition.byte_level_regex) {
        INKSTONE_TRY(Regex pattern, Regex::compile(kByteLevelPattern, "pre_tokenizer: ByteLevel"));
        out.byte_level_split_ = Split{std::move(pattern), SplitBehavior::isolated, false};
    }
    return out;
}

Status PreTokenizer::apply(const Split& split, std::string_view text, std::vector<Range>& pieces) {
    std::vector<Range> out;
    std::vector<Range> matches;
    for (const Range piece : pieces) {
        const std::size_t size = piece.end - piece.begin;
        INKSTONE_CHECK(split.pattern.find_all(text.substr(piece.begin, size), matches));
        const std::size_t first = out.size();
        join(parts_of(size, matches, split.invert), split.behavior, out);
        std::size_t kept = first;
        for (std::size_t i = first; i < out.size(); ++i) {
            if (out[i].begin == out[i].end) continue;
            out[kept++] = {piece.begin + out[i].begin, piece.begin + out[i].end};
        }
        out.resize(kept);
    }
    pieces = std::move(out);
    return {};
}

Status PreTokenizer::split(std::string& text, std::vector<Range>& pieces) const {
    pieces.clear();
    if (text.empty()) return {};
    pieces.push_back({0, text.size()});
    for (const Split& split : splits_) INKSTONE_CHECK(apply(split, text, pieces));
    if (add_prefix_space_) {
        std::string spaced;
        spaced.reserve(text.size() + pieces.size());
        for (Range& piece : pieces) {
            const std::size_t begin = spaced.size();
            if (text[piece.begin] != ' ') spaced += ' ';
            spaced.append(text, piece.begin, piece.end - piece.begin);
            piece = {begin, spaced.size()};
        }
        text = std::move(spaced);
    }
    if (byte_level_split_) INKSTONE_CHECK(apply(*byte_level_split_, text, pieces));
    return {};
}

}  // namespace inkstone::text
