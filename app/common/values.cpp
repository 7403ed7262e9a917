// Numbers, sizes and near words of the command line.
#include "common/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace inkstone::app {
namespace {

// The whole text as a number of type T.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

// Levenshtein distance: letters inserted, removed or replaced.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
    const auto value = parse_whole<std::int64_t>(text);
    if (!value || *value < least || *value > most) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    constexpr std::string_view kUnits = "KMGT";
    unsigned shift = 0;
    if (!text.empty()) {
        if (const auto unit = kUnits.find(text.back()); unit != std::string_view::npos) {
            shift = 10 * (static_cast<unsigned>(unit) + 1);
            text.remove_suffix(1);
        }
    }
    const auto count = parse_whole<std::uint64_t>(text);
    if (!count || *count == 0 || *count > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
    return *count << shift;
}

std::optional<float> parse_decimal(std::string_view text) {
    const auto value = parse_whole<float>(text);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return value;
}

std::optional<std::array<std::uint8_t, 3>> parse_color(std::string_view text) {
    std::array<std::uint8_t, 3> color{};
    for (std::size_t i = 0; i < color.size(); ++i) {
        const std::size_t comma = text.find(',');
        if ((comma == std::string_view::npos) != (i + 1 == color.size())) return std::nullopt;
        const auto value = parse_integer(text.substr(0, comma), 0, 255);
        if (!value) return std::nullopt;
        color[i] = static_cast<std::uint8_t>(*value);
        if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
    }
    return color;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        const std::size_t distance = edit_distance(word.substr(0, 64), candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string join(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

}  // namespace inkstone::app
