// Finds the ends of tables and formulas.
#include "document/quoted.h"

#include <algorithm>

namespace inkstone::document {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A letter, or a byte of a character outside ASCII.
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Whether `name` stands at text[at] in any case of letters, and is not the beginning of a longer name.
bool has_tag_at(std::string_view text, std::size_t at, std::string_view name) {
    if (text.size() - at < name.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = text[at + i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != name[i]) return false;
    }
    const std::size_t behind = at + name.size();
    return behind == text.size() || is_space(text[behind]) || text[behind] == '>' || text[behind] == '/';
}

}  // namespace

std::size_t QuotedParts::end_of_part_at(std::size_t at) {
    const std::string_view rest = text_.substr(at);
    switch (rest.front()) {
        case '<':
            return table_end(at);
        case '|':
            return row_end(at);
        case '$':
            if (rest.starts_with("$$")) return closed_end(at, 2, "$$", no_dollars_);
            return inline_formula_end(at);
        case '\\':
            if (rest.starts_with("\\(")) return closed_end(at, 2, "\\)", no_parenthesis_);
            if (rest.starts_with("\\[")) return closed_end(at, 2, "\\]", no_bracket_);
            // An escaped sign begins nothing.
            return rest.starts_with("\\$") || rest.starts_with("\\\\") ? at + 2 : at;
        default:
            return at;
    }
}

std::size_t QuotedParts::table_end(std::size_t at) const {
    if (!has_tag_at(text_, at, "<table")) return at;
    std::size_t depth = 0;
    for (std::size_t i = at; i != std::string_view::npos; i = text_.find('<', i + 1)) {
        if (has_tag_at(text_, i, "<table")) ++depth;
        if (has_tag_at(text_, i, "</table") && --depth == 0) return std::min(text_.find('>', i), text_.size() - 1) + 1;
    }
    return text_.size();
}

std::size_t QuotedParts::row_end(std::size_t at) const {
    // Backwards over indentation only: a line of nothing but | must not be read once for each.
    const std::size_t before = at == 0 ? std::string_view::npos : text_.find_last_not_of(" \t", at - 1);
    if (before != std::string_view::npos && text_[before] != '\n') return at;
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    const std::size_t last = text_.find_last_not_of(" \t\r", end - 1);
    return last > at && text_[last] == '|' ? end : at;
}

std::size_t QuotedParts::inline_formula_end(std::size_t at) const {
    // "5$" is an amount, "$ 5" too.
    if (at > 0 && is_digit(text_[at - 1])) return at;
    std::size_t close = at + 1;
    while (close < text_.size() && text_[close] != '$' && text_[close] != '\n')
        close += text_.substr(close).starts_with("\\$") ? 2 : 1;
    if (close == text_.size() || text_[close] != '$') return at;
    if (is_space(text_[at + 1]) || is_space(text_[close - 1])) return at;
    if (close + 1 < text_.size()) {
        const char behind = text_[close + 1];
        // "$5(1,2),(3,4)$6(5,6),(7,8)", "$A(1,2),(3,4)$B(5,6),(7,8)": two texts with a box each.
        if (is_digit(behind) || (text_[close - 1] == ')' && is_letter(behind))) return at;
    }
    return close + 1;
}

std::size_t QuotedParts::closed_end(std::size_t at, std::size_t opening_bytes, std::string_view closing,
                                    bool& absent) const {
    const std::size_t close = absent ? std::string_view::npos : text_.find(closing, at + opening_bytes);
    absent = close == std::string_view::npos;
    return absent ? at : close + closing.size();
}

}  // namespace inkstone::document
