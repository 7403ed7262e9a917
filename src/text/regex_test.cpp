// Patterns: what each construct matches (Oniguruma's meaning), what is refused, and that no pattern can hang.
#include "text/regex.h"

#include <gtest/gtest.h>

#include <ctime>

#include "text/regex_syntax.h"

namespace inkstone::text {
namespace {

// The matches in brackets: "a[b]c".
std::string marked(std::string_view pattern, std::string_view text) {
    auto regex = Regex::compile(pattern, "test");
    if (!regex) return regex.error().text();
    std::vector<Range> matches;
    const Status status = regex->find_all(text, matches);
    if (!status) return status.error().text();
    std::string out;
    std::size_t copied = 0;
    for (const Range match : matches) {
        out += text.substr(copied, match.begin - copied);
        out += '[';
        out += text.substr(match.begin, match.end - match.begin);
        out += ']';
        copied = match.end;
    }
    return out + std::string(text.substr(copied));
}

TEST(Regex, FindsAllFromLeftToRight) {
    EXPECT_EQ(marked("\\p{N}{1,3}", "a1234b56"), "a[123][4]b[56]");
    EXPECT_EQ(marked("[一-龥]+", "ab中文c国"), "ab[中文]c[国]");
    EXPECT_EQ(marked("\\s+(?!\\S)|\\s+", "a   b"), "a[  ][ ]b");
    EXPECT_EQ(marked("x", ""), "");
}

TEST(Regex, EmptyMatchesMoveOn) {
    EXPECT_EQ(marked("-*", "a--b"), "[]a[--]b[]");
    EXPECT_EQ(marked("", "é中"), "[]é[]中[]");
}

TEST(Regex, ClassesAreOnigurumas) {
    EXPECT_EQ(marked("\\s", "\u180e\u0085\u3000"), "\u180e[\u0085][\u3000]");
    EXPECT_EQ(marked("[^\\s]", "\u180e "), "[\u180e] ");
    EXPECT_EQ(marked("\\S", "\u180e "), "[\u180e] ");
    EXPECT_EQ(marked("\\w+", "a_é\u0301½Ⓐ-"), "[a_é\u0301]½[Ⓐ]-");
    EXPECT_EQ(marked("\\W", "é\u0301-"), "é\u0301[-]");
    EXPECT_EQ(marked("[\\w-]+", "a-b c"), "[a-b] [c]");
    EXPECT_EQ(marked("\\bb", "ab b e\u0301b"), "ab [b] e\u0301b");
    EXPECT_EQ(marked("b\\B", "bc b"), "[b]c b");
    EXPECT_EQ(marked("\\h", "ag\t"), "[a]g\t");
    EXPECT_EQ(marked("\\v", "\n\x0B"), "\n[\x0B]");
    EXPECT_EQ(marked("\\p{Han}", "中。〇々"), "[中]。[〇][々]");  // the script, not its extensions: U+3002 is common
    EXPECT_EQ(marked("\\p{^L}|\\P{^N}", "a1"), "a[1]");
    EXPECT_EQ(marked("^a$", "a\na\r"), "[a]\na\r");
    EXPECT_EQ(marked("a.", "a\na\r"), "a\n[a\r]");
    EXPECT_EQ(marked("\\u4e2d|\\x{1F44D}|\\x41", "中👍A"), "[中][👍][A]");
    EXPECT_EQ(marked("[]a]", "]a["), "[]][a][");
    EXPECT_EQ(marked("a{|b", "a{b"), "[a{][b]");
    EXPECT_EQ(marked("(?i:'s)|(?i:K)", "'S 'ſ \u212A"), "['S] ['ſ] [\u212A]");
}

TEST(Regex, WhatTheDialectsReadDifferentlyIsRefused) {
    for (const char* pattern :
         {"[a[b]]", "[a&&b]",          "[[:alpha:]]", "a{1,3}+", "a{,3}", "(a)\\1", "(?m)a", "(?m:.)",
          "a(?i)b", "(?<n>a)",         "(?#c)",       "\\Ra",    "\\X",   "\\K",    "\\G",   "\\Q",
          "\\pL",   "\\p{Script=Han}", "\\xFF",       "[\\W]",   "\\u12", "a\\"}) {
        const auto translated = translate_pattern(pattern, "file: key");
        ASSERT_FALSE(translated) << pattern << " became " << *translated;
        EXPECT_EQ(translated.error().code, ErrorCode::unsupported);
        EXPECT_EQ(translated.error().subject, "file: key");
    }
    for (const char* pattern : {"(", "[", "a**)", "\\p{Nonsense}", "\\x{110000}", "(?<=a+)b"})
        EXPECT_FALSE(Regex::compile(pattern, "test")) << pattern;
}

TEST(Regex, LiteralsMatchThemselves) {
    const std::string text = "\\^$.[]|()?*+{}-#&~ 中";
    const auto regex = Regex::literal(text, "test");
    ASSERT_TRUE(regex) << regex.error().text();
    std::vector<Range> matches;
    ASSERT_TRUE(regex->find_all("x" + text + "x", matches));
    ASSERT_EQ(matches.size(), 1U);
    EXPECT_EQ(matches[0].end - matches[0].begin, text.size());
}

// Sets, not letters, at the end: PCRE2 sees that a letter it needs is missing, and stops at once.
TEST(Regex, NestedRepeatsGiveUp) {
    const std::string text = std::string(40, 'a') + "c";
    const std::clock_t start = std::clock();
    for (const char* pattern : {"(a+)+[bd]", "(a|a)*[bd]", "(?:a*)*[bd]|(?:a+a+)+[xy]"}) {
        const auto regex = Regex::compile(pattern, "file: key");
        ASSERT_TRUE(regex) << regex.error().text();
        std::vector<Range> matches;
        const Status status = regex->find_all(text, matches);
        ASSERT_FALSE(status) << pattern;
        EXPECT_EQ(status.error().code, ErrorCode::unsupported);
        EXPECT_EQ(status.error().subject, "file: key");
    }
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0) << "seconds of processor time";
}

TEST(Regex, LongMatchesNeedNoDeepStack) {
    const std::string text(20'000, 'a');
    EXPECT_EQ(marked("(?:a|b)+", text).size(), text.size() + 2);
    EXPECT_EQ(marked("(?:(?:a|b)(?=.|$))+", text).size(), text.size() + 2);
    EXPECT_EQ(marked("[ab]+", std::string(1'000'000, 'b')).size(), 1'000'002U);
}

}  // namespace
}  // namespace inkstone::text
