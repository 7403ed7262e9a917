// One pass over the pattern; text that means the same in both dialects is copied.
#include "text/regex_syntax.h"

#include <algorithm>
#include <array>

namespace inkstone::text {
namespace {

constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
public:
    Translator(std::string_view pattern, std::string_view subject) : pattern_(pattern), subject_(subject) {}

    Result<std::string> run() {
        while (position_ < pattern_.size()) {
            const char c = pattern_[position_];
            if (c == '\\') {
                INKSTONE_CHECK(escape());
            } else if (in_class_) {
                INKSTONE_CHECK(class_member(c));
            } else if (c == '[') {
                open_class();
            } else if (c == '(') {
                INKSTONE_CHECK(open_group());
            } else if (c == '{') {
                INKSTONE_CHECK(interval());
            } else {
                copy(1);
            }
        }
        return std::move(out_);
    }

private:
    char at(std::size_t offset) const {
        return position_ + offset < pattern_.size() ? pattern_[position_ + offset] : '\0';
    }
    void copy(std::size_t count) {
        out_.append(pattern_.substr(position_, count));
        position_ += count;
    }
    Error refuse(std::string_view construct) const {
        return {ErrorCode::unsupported, "tokenizer", std::string(subject_),
                "the pattern \"" + std::string(pattern_) + "\" has " + std::string(construct) + " at byte " +
                    std::to_string(position_) + " of " + std::to_string(pattern_.size()) +
                    ", which is not supported: write it in another form"};
    }

    void open_class() {
        in_class_ = true;
        copy(at(1) == '^' ? 2 : 1);
        // A bracket that stands first is a member in both dialects.
        if (at(0) == ']') {
            out_ += "\\]";
            ++position_;
        }
    }

    Status class_member(char c) {
        if (c == '[') return refuse("a set inside a set");
        if (c == '&' && at(1) == '&') return refuse("the set operation &&");
        if (c == ']') in_class_ = false;
        copy(1);
        return {};
    }

    Status open_group() {
        if (at(1) != '?') {
            copy(1);
            return {};
        }
        const std::string_view rest = pattern_.substr(position_);
        for (const std::string_view opening : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"}) {
            if (!rest.starts_with(opening)) continue;
            copy(opening.size());
            return {};
        }
        // Inside a pattern, (?i) reaches to the end of the alternative in one dialect and of the group in the other.
        if (rest.starts_with("(?i)") && position_ == 0) {
            copy(4);
            return {};
        }
        return refuse("the group " + std::string(rest.substr(0, 4)));
    }

    Status interval() {
        std::size_t length = 1;
        while (is_digit(at(length))) ++length;
        const bool has_minimum = length > 1;
        if (at(length) == ',') ++length;
        while (is_digit(at(length))) ++length;
        if (at(length) != '}' || length == 1) {
            out_ += "\\{";  // a brace that opens no interval is a character
            ++position_;
            return {};
        }
        if (!has_minimum) return refuse("an interval without a minimum");
        if (at(length + 1) == '+') return refuse("an interval followed by +");
        copy(length + 1);
        return {};
    }

    Status escape() {
        const char c = at(1);
        if (position_ + 1 >= pattern_.size()) return refuse("a backslash at the end");
        switch (c) {
            case 's':
                return replace(2, "\\p{White_Space}");
            case 'S':
                return replace(2, "\\P{White_Space}");
            case 'w':
                return replace(2, in_class_ ? std::string(kWordMembers) : "[" + std::string(kWordMembers) + "]");
            case 'W':
                if (in_class_) return refuse("\\W inside a set");
                return replace(2, "[^" + std::string(kWordMembers) + "]");
            case 'b':
                if (in_class_) return replace(2, "\\x08");
                return replace(2, boundary(true));
            case 'B':
                if (in_class_) return refuse("\\B inside a set");
                return replace(2, boundary(false));
            case 'h':
                return replace(2, in_class_ ? "0-9a-fA-F" : "[0-9a-fA-F]");
            case 'v':
                return replace(2, "\\x0B");
            case 'A':
            case 'z':
                if (in_class_) return refuse(std::string("\\") + c + " inside a set");
                copy(2);
                return {};
            case 'd':
            case 'D':
            case 'n':
            case 'r':
            case 't':
            case 'f':
            case 'a':
            case 'e':
                copy(2);
                return {};
            case 'p':
            case 'P':
                return property();
            case 'x':
            case 'u':
                return code_point();
            default:
                break;
        }
        if (is_letter(c) || is_digit(c)) return refuse(std::string("the escape \\") + c);
        if (static_cast<unsigned char>(c) >= 0x80)
            ++position_;  // an escaped character beyond ASCII is that character
        else
            copy(2);
        return {};
    }

    Status replace(std::size_t count, std::string_view text) {
        out_ += text;
        position_ += count;
        return {};
    }

    // Between a word character and another or an edge, as lookarounds over Oniguruma's word characters.
    static std::string boundary(bool at_boundary) {
        const std::string word = "[" + std::string(kWordMembers) + "]";
        const std::string before = "(?<=" + word + ")";
        const std::string not_before = "(?<!" + word + ")";
        const std::string after = "(?=" + word + ")";
        const std::string not_after = "(?!" + word + ")";
        return at_boundary ? "(?:" + before + not_after + "|" + not_before + after + ")"
                           : "(?:" + before + after + "|" + not_before + not_after + ")";
    }

    // \p{Name}: a general category (one or two letters) is copied; any other name is a script, or PCRE2 refuses it.
    Status property() {
        const std::size_t close = pattern_.find('}', position_);
        if (at(2) != '{' || close == std::string_view::npos) return refuse("a property without braces");
        std::string_view name = pattern_.substr(position_ + 3, close - position_ - 3);
        bool negated = at(1) == 'P';
        if (name.starts_with('^')) {
            negated = !negated;
            name.remove_prefix(1);
        }
        if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; }))
            return refuse("the property \\p{" + std::string(name) + "}");
        constexpr std::array<std::string_view, 2> kSharedNames = {"Any", "Alphabetic"};
        const bool shared = std::find(kSharedNames.begin(), kSharedNames.end(), name) != kSharedNames.end();
        out_ += negated ? "\\P{" : "\\p{";
        if (name.size() > 2 && !shared) out_ += "sc:";
        out_ += name;
        out_ += '}';
        position_ = close + 1;
        return {};
    }

    // \uHHHH, \x{H...}, \xHH; the last is a raw byte in Oniguruma, so only ASCII keeps its meaning.
    Status code_point() {
        if (at(1) == 'x' && at(2) == '{') {
            const std::size_t close = pattern_.find('}', position_);
            if (close == std::string_view::npos) return refuse("\\x{ without }");
            copy(close + 1 - position_);
            return {};
        }
        const std::size_t digits = at(1) == 'u' ? 4 : 2;
        for (std::size_t i = 0; i < digits; ++i)
            if (!is_hex_digit(at(2 + i))) return refuse("a short hexadecimal escape");
        if (digits == 2 && at(2) > '7') return refuse("\\x of a byte that is no character");
        out_ += "\\x{" + std::string(pattern_.substr(position_ + 2, digits)) + "}";
        position_ += 2 + digits;
        return {};
    }

    std::string_view pattern_;
    std::string_view subject_;
    std::size_t position_ = 0;
    bool in_class_ = false;
    std::string out_;
};

}  // namespace

Result<std::string> translate_pattern(std::string_view pattern, std::string_view subject) {
    return Translator(pattern, subject).run();
}

}  // namespace inkstone::text
