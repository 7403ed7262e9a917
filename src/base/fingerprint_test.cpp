// The published vector for no input, and that every bit and boundary counts.
#include "base/fingerprint.h"

#include <gtest/gtest.h>

namespace inkstone {
namespace {

std::string of(std::initializer_list<std::string_view> texts) {
    Fingerprint fingerprint;
    for (const std::string_view text : texts) fingerprint.add(text);
    return fingerprint.text();
}

}  // namespace

TEST(Fingerprint, OfNothingIsTheAlgorithmsOwn) { EXPECT_EQ(of({}), "99aa06d3014798d86001c324468d497f"); }

TEST(Fingerprint, TellsContentsAndBoundariesApart) {
    EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
    EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
    EXPECT_NE(of({"ab"}), of({"aB"}));
    Fingerprint whole, parts;
    const std::string text(100000, 'x');
    whole.add(std::as_bytes(std::span(text)));
    parts.add(std::as_bytes(std::span(text).first(777)));
    parts.add(std::as_bytes(std::span(text).subspan(777)));
    EXPECT_EQ(whole.text(), parts.text());
}

}  // namespace inkstone
