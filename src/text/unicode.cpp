// The only file that knows utf8proc.
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace inkstone::text {

Status normalize(NormalForm form, std::string& text) {
    // ASCII is its own normal form in all four.
    if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return {};
    const bool compose = form == NormalForm::nfc || form == NormalForm::nfkc;
    const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
    const int options =
        UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &mapped, static_cast<utf8proc_option_t>(options));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    if (size < 0)
        return Error{size == UTF8PROC_ERROR_NOMEM ? ErrorCode::out_of_memory : ErrorCode::internal, "tokenizer",
                     "normalizer",
                     "cannot normalize a text of " + std::to_string(text.size()) + " bytes: " + utf8proc_errmsg(size)};
    text.assign(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
    return {};
}

bool is_word_character(char32_t code_point) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC:
            return true;
        case UTF8PROC_CATEGORY_SO:  // the circled and squared letters are alphabetic though they are symbols
            return (code_point >= 0x24B6 && code_point <= 0x24E9) || (code_point >= 0x1F130 && code_point <= 0x1F149) ||
                   (code_point >= 0x1F150 && code_point <= 0x1F169) || (code_point >= 0x1F170 && code_point <= 0x1F189);
        default:
            return code_point == 0x200C || code_point == 0x200D;
    }
}

bool is_white_space(char32_t code_point) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return true;
        default:
            return (code_point >= 0x09 && code_point <= 0x0D) || code_point == 0x85;
    }
}

}  // namespace inkstone::text
