// Stop strings against a search in the whole text, cut into pieces in every way; and what is held back.
#include "generate/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace inkstone::generate {
namespace {

using Strings = std::vector<std::string>;

// The definition: the earliest end of a stop string, of those the longest one.
std::string plain_cut(const std::string& text, const Strings& stops) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::size_t longest = 0;
        for (const std::string& stop : stops)
            if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
        if (longest > 0) return text.substr(0, end - longest);
    }
    return text;
}

struct Read {
    std::string text;
    bool stopped = false;
};

Read read(const std::vector<std::string>& pieces, const Strings& stops) {
    StopStrings rule(stops);
    Read read;
    std::string input;
    for (const std::string& piece : pieces) {
        const std::string given = rule.push(piece);
        EXPECT_TRUE(is_valid_utf8(given));
        read.text += given;
        input += piece;
        if (rule.stopped()) continue;
        // Held back is the longest beginning of a stop string, no more and no less.
        const std::string held = input.substr(read.text.size());
        EXPECT_TRUE(input.starts_with(read.text));
        std::size_t longest = 0;
        for (const std::string& stop : stops)
            for (std::size_t n = 1; n < stop.size(); ++n)
                if (input.ends_with(stop.substr(0, n))) longest = std::max(longest, n);
        EXPECT_EQ(held.size(), longest) << input;
    }
    read.stopped = rule.stopped();
    read.text += rule.flush();
    return read;
}

TEST(StopStrings, AcrossPieces) {
    EXPECT_EQ(read({"The quick br", "own", " f", "ox jumps"}, {"own fox"}).text, "The quick br");
    EXPECT_EQ(read({"brown f", "ish"}, {"own fox"}).text, "brown fish");
    EXPECT_EQ(read({"abababac"}, {"ababac"}).text, "ab");
    const Read cut = read({"x", "own fo"}, {"own fox"});  // never completed
    EXPECT_EQ(cut.text, "xown fo");
    EXPECT_FALSE(cut.stopped);
}

TEST(StopStrings, Overlapping) {
    EXPECT_EQ(read({"xa", "bc"}, {"ab", "b"}).text, "x");  // whole at the same byte: the longest
    EXPECT_EQ(read({"xb"}, {"ab", "b"}).text, "x");
    EXPECT_EQ(read({"xabc"}, {"abc", "b"}).text, "xa");  // the first to be whole
    EXPECT_EQ(read({"x", "", "a", "", "b"}, {"ab"}).text, "x");
}

TEST(StopStrings, SeveralBytesInACharacter) {
    EXPECT_EQ(read({"1è", "2é3"}, {"é"}).text, "1è2");
    EXPECT_EQ(read({"发", "票", "号"}, {"票号"}).text, "发");
    EXPECT_EQ(read({"a😀", "b"}, {"😁"}).text, "a😀b");  // three bytes in common
}

TEST(StopStrings, WithoutAnyEveryPiecePasses) {
    StopStrings none({});
    EXPECT_EQ(none.push("ab"), "ab");
    EXPECT_FALSE(none.stopped());
    EXPECT_EQ(none.flush(), "");
}

TEST(StopStrings, AreTheSameWhateverThePieces) {
    std::mt19937 random(18);
    const std::string letters[] = {"a", "b", "c", "é", "è", "发"};
    const auto word = [&](std::size_t most) {
        std::string text;
        for (std::size_t n = 1 + random() % most; n > 0; --n) text += letters[random() % std::size(letters)];
        return text;
    };
    std::size_t stopped = 0;
    for (int round = 0; round < 4000; ++round) {
        Strings stops(1 + random() % 3);
        for (std::string& stop : stops) stop = word(4);
        std::vector<std::string> pieces(1 + random() % 8);
        std::string text;
        for (std::string& piece : pieces) text += piece = random() % 5 == 0 ? "" : word(5);
        const Read found = read(pieces, stops);
        EXPECT_EQ(found.text, plain_cut(text, stops)) << text;
        EXPECT_EQ(found.stopped, found.text != text || plain_cut(text, stops) != text);
        stopped += found.stopped ? 1 : 0;
    }
    EXPECT_GT(stopped, 1000U);
    EXPECT_LT(stopped, 3900U);
}

}  // namespace
}  // namespace inkstone::generate
