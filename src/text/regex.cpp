// The only file that knows PCRE2.
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "text/regex_syntax.h"

namespace inkstone::text {
namespace {

// A step is one call of PCRE2's matcher. Real patterns need a few per character; nested repeats need exponentially
// many.
constexpr std::uint32_t kMatchSteps = 1'000'000;
constexpr std::uint32_t kMatchStepsPerByte = 16;
constexpr std::uint32_t kHeapLimitKibibytes = 64 * 1024;
constexpr std::size_t kPatternLimitBytes = 64 * 1024;

std::string message_of(int code) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

struct FreeCompileContext {
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};
struct FreeMatchContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeMatchData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

Error out_of_memory(std::string_view subject) {
    return {ErrorCode::out_of_memory, "tokenizer", std::string(subject), "no memory for a regular expression"};
}

}  // namespace

struct Regex::Code {
    pcre2_code* compiled = nullptr;
    std::string subject;
    std::string pattern;
    Code() = default;
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    ~Code() { pcre2_code_free(compiled); }
};

Result<Regex> Regex::compile(std::string_view pattern, std::string_view subject) {
    if (pattern.size() > kPatternLimitBytes)
        return Error{ErrorCode::malformed, "tokenizer", std::string(subject),
                     "the pattern has " + std::to_string(pattern.size()) + " bytes, more than the " +
                         std::to_string(kPatternLimitBytes) + " that a pattern may have"};
    INKSTONE_TRY(const std::string translated, translate_pattern(pattern, subject));
    std::unique_ptr<pcre2_compile_context, FreeCompileContext> context(pcre2_compile_context_create(nullptr));
    if (!context) return out_of_memory(subject);
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    auto code = std::make_shared<Code>();
    int error = 0;
    PCRE2_SIZE offset = 0;
    code->compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                                   context.get());
    if (code->compiled == nullptr)
        return Error{ErrorCode::malformed, "tokenizer", std::string(subject),
                     "the pattern \"" + std::string(pattern) + "\" (here \"" + translated + "\") is wrong at byte " +
                         std::to_string(offset) + " of " + std::to_string(translated.size()) + ": " +
                         message_of(error)};
    // Without machine code (a build of PCRE2 without it, or no executable memory) the interpreter gives the same
    // matches.
    pcre2_jit_compile(code->compiled, PCRE2_JIT_COMPLETE);
    code->subject = subject;
    code->pattern = pattern;
    return Regex(std::move(code));
}

Result<Regex> Regex::literal(std::string_view text, std::string_view subject) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("\\^$.[]|()?*+{}-").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return compile(pattern, subject);
}

Status Regex::find_all(std::string_view text, std::vector<Range>& out) const {
    out.clear();
    if (text.empty()) return {};
    // One pair of offsets: only the whole match is wanted.
    std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
    std::unique_ptr<pcre2_match_context, FreeMatchContext> context(pcre2_match_context_create(nullptr));
    if (!data || !context) return out_of_memory(code_->subject);
    const std::uint64_t steps = kMatchSteps + std::uint64_t{kMatchStepsPerByte} * text.size();
    pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, UINT32_MAX)));
    pcre2_set_heap_limit(context.get(), kHeapLimitKibibytes);

    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data.get());
    std::size_t position = 0;
    std::size_t last_end = text.size() + 1;  // no match yet
    while (position <= text.size()) {
        int found =
            pcre2_match(code_->compiled, subject, text.size(), position, PCRE2_NO_UTF_CHECK, data.get(), context.get());
        // The machine code has a fixed stack; the interpreter uses the heap up to its limit.
        if (found == PCRE2_ERROR_JIT_STACKLIMIT)
            found = pcre2_match(code_->compiled, subject, text.size(), position, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                                data.get(), context.get());
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found < 0)
            return Error{ErrorCode::unsupported, "tokenizer", code_->subject,
                         "the pattern \"" + code_->pattern + "\" gave up at byte " + std::to_string(position) + " of " +
                             std::to_string(text.size()) + ": " + message_of(found)};
        const Range match{offsets[0], offsets[1]};
        if (match.begin < match.end) {
            out.push_back(match);
            position = last_end = match.end;
            continue;
        }
        // An empty match (or, by \K-like tricks, a reversed one) moves on by one character.
        if (match.begin != last_end) out.push_back({match.begin, match.begin});
        last_end = match.begin;
        position = match.begin < text.size() ? match.begin + decode_utf8(text.substr(match.begin)).length_bytes
                                             : text.size() + 1;
    }
    return {};
}

}  // namespace inkstone::text
