// The grammar of --precision and its refusals.
#include "hunyuan_ocr/precision.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/values.h"
#include "hunyuan_ocr/later.h"

namespace inkstone::app {
namespace {

using hunyuan_ocr::PartPrecisions;
using hunyuan_ocr::Precision;

constexpr std::array<std::pair<std::string_view, Precision>, 4> kPrecisions{
    {{"f32", Precision::f32}, {"bf16", Precision::bf16}, {"q8", Precision::q8}, {"q4", Precision::q4}}};
constexpr std::array<std::pair<std::string_view, Precision PartPrecisions::*>, 4> kParts{
    {{"vision", &PartPrecisions::vision},
     {"decoder", &PartPrecisions::decoder},
     {"head", &PartPrecisions::head},
     {"kv", &PartPrecisions::kv}}};

template <class Table>
std::string names(const Table& table) {
    std::vector<std::string_view> words;
    for (const auto& [name, value] : table) words.push_back(name);
    return join(words);
}

template <class Table>
auto find(const Table& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == name; });
}

template <class List>
bool contains(const List& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

std::variant<PartPrecisions, UsageError> parse_precision(std::string_view text) {
    const std::string found = "--precision " + std::string(text);
    const auto refused = [&](std::string_view word, std::string_view why) {
        const std::string subject = word == text ? found : found + ": " + std::string(word);
        return UsageError{subject + std::string(why)};
    };
    const auto refused_precision = [&](std::string_view word) {
        return refused(word, contains(kLaterPrecisions, word)
                                 ? " is not in this version, which has: " + names(kPrecisions)
                                 : " is not known; this version has: " + names(kPrecisions));
    };
    if (text.find_first_of("=,") == std::string_view::npos) {
        const auto precision = find(kPrecisions, text);
        if (precision == kPrecisions.end()) return refused_precision(text);
        return PartPrecisions(precision->second);
    }
    PartPrecisions result;
    std::vector<std::string_view> named;
    for (std::string_view rest = text;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma), part = item.substr(0, item.find('='));
        if (part.size() == item.size())
            return refused(item, " names no part; parts are written part=precision (vision=bf16,kv=bf16)");
        const auto member = find(kParts, part);
        if (member == kParts.end())
            return refused(part, contains(kLaterParts, part)
                                     ? " is not in this version, whose parts are: " + names(kParts)
                                     : " is not a part; the parts are: " + names(kParts));
        if (contains(named, part)) return refused(part, " is named twice");
        named.push_back(part);
        const std::string_view word = item.substr(part.size() + 1);
        if (word.empty()) return refused(part, " has no value");
        const auto precision = find(kPrecisions, word);
        if (precision == kPrecisions.end()) return refused_precision(word);
        const bool quantised = precision->second == Precision::q8 || precision->second == Precision::q4;
        if (quantised && part != "decoder" && part != "head")
            return refused(word, " of " + std::string(part) +
                                     " is not in this version, which has it of decoder and head; " + std::string(part) +
                                     " has: f32, bf16");
        result.*(member->second) = precision->second;
        if (comma == std::string_view::npos) return result;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace inkstone::app
