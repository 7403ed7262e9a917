// Every form of an answer with boxes, what is no box, and answers made to break the parser.
#include "document/boxes.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace inkstone::document {
namespace {

// "text[left,top,right,bottom]" of each box, corners as (x,y) behind, a label before as "label: ".
std::string described(const std::vector<Box>& boxes) {
    std::string all;
    for (const Box& box : boxes) {
        if (!all.empty()) all += ' ';
        if (!box.label.empty()) all += box.label + ": ";
        const Rectangle& n = box.normalized;
        all += box.text + '[' + std::to_string(n.left) + ',' + std::to_string(n.top) + ',' + std::to_string(n.right) +
               ',' + std::to_string(n.bottom) + ']';
        for (const Point& corner : box.normalized_corners)
            all += '(' + std::to_string(corner.x) + ',' + std::to_string(corner.y) + ')';
    }
    return all;
}

std::string read(std::string_view answer) { return described(parse_boxes(answer, 1000, 1000)); }

struct Case {
    std::string_view answer, boxes;
};

void expect_all(std::initializer_list<Case> cases) {
    for (const Case& one : cases) EXPECT_EQ(read(one.answer), one.boxes) << one.answer;
}

}  // namespace

TEST(Boxes, PixelsAreOfThePictureNormalizedAsPrinted) {
    const auto whole = parse_boxes("text(0,0),(1000,1000)", 123, 457);
    ASSERT_EQ(whole.size(), 1U);
    EXPECT_EQ(whole[0].text, "text");
    EXPECT_EQ(whole[0].normalized, (Rectangle{0, 0, 1000, 1000}));
    EXPECT_EQ(whole[0].pixels, (Rectangle{0, 0, 123, 457}));
    EXPECT_TRUE(whole[0].normalized_corners.empty() && whole[0].pixel_corners.empty());

    const auto part = parse_boxes("text(1,999),(500,1000)", 2480, 3508);
    EXPECT_EQ(part[0].pixels, (Rectangle{2, 3504, 1240, 3508}));
    const auto corners = parse_boxes("text(100,0),(900,50),(890,150),(90,100)", 200, 2000);
    EXPECT_EQ(corners[0].pixels, (Rectangle{18, 0, 180, 300}));
    EXPECT_EQ(corners[0].pixel_corners, (std::vector<Point>{{20, 0}, {180, 100}, {178, 300}, {18, 200}}));
    // Sides beyond any picture do not overflow.
    EXPECT_EQ(parse_boxes("a(0,0),(1000,1000)", 2147483647, 1)[0].pixels, (Rectangle{0, 0, 2147483647, 1}));
}

TEST(Boxes, PlainForm) {
    expect_all({
        {"", ""},
        {"no coordinates at all", ""},
        {"图片中没有文字。", ""},
        {"Hello(1,2),(3,4)World(5,6),(7,8)", "Hello[1,2,3,4] World[5,6,7,8]"},
        {"Hello(1,2),(3,4)\nWorld(5,6),(7,8)\n", "Hello[1,2,3,4] World[5,6,7,8]"},
        {"Hello(1,2),(3,4)\r\nWorld( 5 , 6 ), ( 7 , 8 )", "Hello[1,2,3,4] World[5,6,7,8]"},
        {"发票(10,20),(30,40)金额(小写)(50,60),(70,80)", "发票[10,20,30,40] 金额(小写)[50,60,70,80]"},
        {"two\nlines(1,2),(3,4)", "two\nlines[1,2,3,4]"},
        {"(1,2),(3,4)", "[1,2,3,4]"},
        {"reversed(30,40),(10,20)", "reversed[10,20,30,40]"},
        {"no height(1,2),(3,2)", "no height[1,2,3,2]"},
        {"leading zeros(001,0002),(3,4)", "leading zeros[1,2,3,4]"},
        {"<answer>Hello(1,2),(3,4)</answer>", "Hello[1,2,3,4]"},
        {"```\nHello(1,2),(3,4)\n```", "Hello[1,2,3,4]"},
        {"cut(1,2),(3,4)cut(5,6),(7", "cut[1,2,3,4]"},
    });
}

TEST(Boxes, SeveralBoxesOfOneTextAndQuadrilaterals) {
    expect_all({
        {"a(1,2),(3,4)(5,6),(7,8)b(9,9),(10,10)", "a[1,2,3,4] a[5,6,7,8] b[9,9,10,10]"},
        {"a(1,2),(3,4) (5,6),(7,8)", "a[1,2,3,4] a[5,6,7,8]"},
        {"a(1,2),(3,4)\n(5,6),(7,8)", "a[1,2,3,4] [5,6,7,8]"},
        {"a(1,2),(3,4),(5,6),(7,8)", "a[1,2,3,4] a[5,6,7,8]"},
        {"a(1,2),(3,4),(5,6),(7,8),(9,10),(11,12)", "a[1,2,3,4] a[5,6,7,8] a[9,10,11,12]"},
        {"a(10,10),(90,10),(90,20),(10,20)", "a[10,10,90,20](10,10)(90,10)(90,20)(10,20)"},
        {"a(50,0),(100,50),(50,100),(0,50)b(1,2),(3,4)", "a[0,0,100,100](50,0)(100,50)(50,100)(0,50) b[1,2,3,4]"},
    });
}

TEST(Boxes, PrintedParenthesesAndCoordinatesBelongToTheText) {
    expect_all({
        {"ATLANTA (AP) Second(1,2),(3,4)", "ATLANTA (AP) Second[1,2,3,4]"},
        {"f(x)(1,2),(3,4)", "f(x)[1,2,3,4]"},
        {"P(3,4) lies on it(10,20),(30,40)", "P(3,4) lies on it[10,20,30,40]"},
        {"P(3,4)(10,20),(30,40)", "P(3,4)[10,20,30,40]"},
        {"P=(3,4),(10,20),(30,40)", "P=(3,4),[10,20,30,40]"},
        {"(1,2),(3,4)(10,20),(30,40)", "(1,2),(3,4)[10,20,30,40]"},
        {"((1,2),(3,4))", "([1,2,3,4]"},
        {"(a)(b),(c)(1,2),(3,4)", "(a)(b),(c)[1,2,3,4]"},
        {"1,234(1,2),(3,4)", "1,234[1,2,3,4]"},
    });
}

TEST(Boxes, NumbersOutOfRangeOrMalformedAreText) {
    for (const std::string_view bad :
         {"(0,0),(1001,10)", "(-1,0),(10,10)", "(0.5,0),(10,10)", "(,0),(10,10)", "(1),(2)", "(1,2,3),(4,5,6)",
          "(1 2),(3 4)", "(1,2)", "(1,2),(3,4", "(+1,2),(3,4)", "(１,2),(3,4)", "(99999999999999999999,0),(10,10)",
          "(1;2),(3;4)", "(0x1,2),(3,4)", "(1e2,2),(3,4)"}) {
        EXPECT_EQ(read("a" + std::string(bad)), "") << bad;
        EXPECT_EQ(read("a(1,2),(3,4)b" + std::string(bad) + " c(5,6),(7,8)"),
                  "a[1,2,3,4] b" + std::string(bad) + " c[5,6,7,8]");
    }
    // A line that ends in coordinates of no picture is lost for itself only.
    EXPECT_EQ(read("a(1,2),(3000,4)\nb(5,6),(7,8)"), "b[5,6,7,8]");
    EXPECT_EQ(read("years (2024,1),(2025,3)(5,6),(7,8)"), "years (2024,1),(2025,3)[5,6,7,8]");
}

TEST(Boxes, TablesAndFormulasAreLeftAlone) {
    expect_all({
        {"<table>\n<tr>\n<td>\n(2,4),(3,3)\n</td>\n</tr>\n</table>", ""},
        {"<table><tr><td>a(2,4),(3,5)</td></tr></table>(1,2),(3,4)",
         "<table><tr><td>a(2,4),(3,5)</td></tr></table>[1,2,3,4]"},
        {"<TABLE class=\"points\"><TR><TH>\nPoints(2,4),(3,3)\n</TH></TR></TABLE>", ""},
        {"<table\nclass=\"points\"><td>(2,4),(3,3)</td></table\n>", ""},
        {"<table><tr><td><table><tr><td>x</td></tr></table>\n(2,4),(3,3)\n</td></tr></table>\ny(1,2),(3,4)",
         "<table><tr><td><table><tr><td>x</td></tr></table>\n(2,4),(3,3)\n</td></tr></table>\ny[1,2,3,4]"},
        {"<table><tr><td>cut(2,4),(3,3)", ""},
        {"<tablet>(2,4),(3,5)", "<tablet>[2,4,3,5]"},
        {"| a | (1,2),(3,4) |\n|---|---|\n  | b | (5,6),(7,8) |\r\n", ""},
        {"| border(1,2),(3,4)", "| border[1,2,3,4]"},
        {"$(2,4),(3,3)$", ""},
        {"$f(2,4),(3,5)$(10,20),(30,40)", "$f(2,4),(3,5)$[10,20,30,40]"},
        {"$$\nA = (2,4),(3,5)\n$$\n(10,20),(30,40)", "$$\nA = (2,4),(3,5)\n$$[10,20,30,40]"},
        {"\\((2,4),(3,5)\\) and \\[(2,4),\n(3,5)\\](10,20),(30,40)",
         "\\((2,4),(3,5)\\) and \\[(2,4),\n(3,5)\\][10,20,30,40]"},
    });
}

TEST(Boxes, DollarsOfPricesAreNoFormulas) {
    expect_all({
        {"Total $48.20(56,141),(719,500)Tax $4.00(1,2),(3,4)", "Total $48.20[56,141,719,500] Tax $4.00[1,2,3,4]"},
        {"$5(1,2),(3,4)$6(5,6),(7,8)", "$5[1,2,3,4] $6[5,6,7,8]"},
        {"5$(1,2),(3,4)6$(5,6),(7,8)", "5$[1,2,3,4] 6$[5,6,7,8]"},
        {"$A(1,2),(3,4)$B(5,6),(7,8)", "$A[1,2,3,4] $B[5,6,7,8]"},
        {"$5(1,2),(3,4)\n$6(5,6),(7,8)", "$5[1,2,3,4] $6[5,6,7,8]"},
        {"\\$5(1,2),(3,4)a$(5,6),(7,8)", "\\$5[1,2,3,4] a$[5,6,7,8]"},
        {"$$ never closed(1,2),(3,4)", "$$ never closed[1,2,3,4]"},
        {"\\( never closed(1,2),(3,4)", "\\( never closed[1,2,3,4]"},
    });
}

TEST(Boxes, TaggedForms) {
    expect_all({
        {"Title<hy-meta><layout>title</layout><poly>(1,2),(30,2),(30,9),(1,9)</poly></hy-meta>\n"
         "Body of\ntwo lines<hy-meta><layout>paragraph</layout><quad>(1,20)(30,20)(30,90)(1,90)</quad></hy-meta>",
         "title: Title[1,2,30,9](1,2)(30,2)(30,9)(1,9) "
         "paragraph: Body of\ntwo lines[1,20,30,90](1,20)(30,20)(30,90)(1,90)"},
        {"<table><tr><td>(2,4),(3,3)</td></tr></table><hy-meta><layout>table</layout><poly>[[1,2],[3,4]]</poly></"
         "hy-meta>",
         "table: <table><tr><td>(2,4),(3,3)</td></tr></table>[1,2,3,4]"},
        {"<hy-meta><layout>figure</layout><poly>(1,2),(3,4)</poly></hy-meta>", "figure: [1,2,3,4]"},
        {"a<hy-meta><poly>(1,2),(3,4)</poly></hy-meta>", "a[1,2,3,4]"},
        {"<ref>one</ref><quad>(1,2),(3,4)</quad><ref>two</ref><quad>(5,6),(7,8)</quad>", "one[1,2,3,4] two[5,6,7,8]"},
        {"<quad>(1,2),(3,4)</quad><ref>one</ref><quad>(5,6),(7,8)</quad><ref>two</ref>", "one[1,2,3,4] two[5,6,7,8]"},
        {"<quad><pos_1><pos_2><pos_3><pos_4></quad><ref>one</ref>", "one[1,2,3,4]"},
        {"<ref>one</ref><quad>(1,2),(3,4)</quad><quad>(5,6),(7,8)</quad>", "one[1,2,3,4] one[5,6,7,8]"},
        // Numbers that are none cost their own region only.
        {"a<hy-meta><poly>(1,2),(3,4000)</poly></hy-meta>b<hy-meta><poly>(5,6),(7,8)</poly></hy-meta>", "b[5,6,7,8]"},
        {"a<hy-meta><poly>(1,2),(3)</poly></hy-meta>b<hy-meta><poly>(5,6),(7,8)</poly></hy-meta>", "b[5,6,7,8]"},
        {"a<hy-meta><poly>(1,2)</poly></hy-meta>", ""},
        {"a<hy-meta><poly>(1,-2),(3,4)</poly></hy-meta>", ""},
        {"a<hy-meta><poly>1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1</poly></hy-meta>", ""},
        {"a<hy-meta><layout>title</layout><poly>(1,2),(3,4)", ""},
    });
    const std::string long_label(65, 'x');
    EXPECT_EQ(read("a<hy-meta><layout>" + long_label + "</layout><poly>(1,2),(3,4)</poly>"), "a[1,2,3,4]");
}

TEST(Boxes, JsonForm) {
    expect_all({
        {R"~([{"box": [1, 2, 3, 4], "text": "Hello"}, {"box": [5, 6, 7, 8], "text": "a \"}{\" b"}])~",
         "Hello[1,2,3,4] a \"}{\" b[5,6,7,8]"},
        {"```json\n[{\"box\": [1, 2, 3, 4], \"text\": \" Hello \"}]\n```", "Hello[1,2,3,4]"},
        {R"~([{"bbox": [1, 2.0, 3, 4], "text": "Hello"}])~", "Hello[1,2,3,4]"},
        {R"~([{"box": [[1, 2], [30, 2], [30, 9], [1, 9]], "text": "a"}])~", "a[1,2,30,9](1,2)(30,2)(30,9)(1,9)"},
        {R"~([{"box": [1, 2, 30, 2, 30, 9, 1, 9], "text": "a"}])~", "a[1,2,30,9](1,2)(30,2)(30,9)(1,9)"},
        {R"~([{"layout_type": "figure", "bbox": "(1,2),(30,2),(30,9),(1,9)"}])~",
         "figure: [1,2,30,9](1,2)(30,2)(30,9)(1,9)"},
        {R"~([{"box": [1, 2, 3, 4], "text": "(9,9),(10,10)"}])~", "(9,9),(10,10)[1,2,3,4]"},
        {R"~([{"box": [1, 2, 3, 4], "text": "whole"}, {"box": [5, 6, 7)~", "whole[1,2,3,4]"},
        {R"~([{"box": [1, 2, 3, 4], "text": 5}])~", "[1,2,3,4]"},
        // A bad item costs only itself.
        {R"~([{"box": [1, 2, 3, 4000], "text": "a"}, {"box": [1, 2, 3, 4], "text": "b"}])~", "b[1,2,3,4]"},
        {R"~([{"box": [1, 2, 3], "text": "a"}, {"box": [1, 2, 3, 4], "text": "b"}])~", "b[1,2,3,4]"},
        {R"~([{"box": [1, 2, 3.5, 4], "text": "a"}, {"box": {}}, {"box": null}, {"box": [[[[1]]]]}, {"text": "c"}, {1}])~",
         ""},
        {R"~([{"box": "1;2;3;4", "text": "a"}, {"box": true}, {"box": [true, 2, 3, 4]}, {"box": [-1, 2, 3, 4]}])~", ""},
        // Print that begins like JSON.
        {"[1](1,2),(3,4)", "[1][1,2,3,4]"},
        {"{\"a\": 1}(1,2),(3,4)", "{\"a\": 1}[1,2,3,4]"},
        {"[", ""},
    });
}

// Work and memory stay linear: each of these takes minutes, or gigabytes, when something is looked at again and again.
TEST(Boxes, HostileLengths) {
    const auto repeated = [](std::string_view unit, std::size_t bytes) {
        std::string text;
        while (text.size() < bytes) text += unit;
        return text;
    };
    constexpr std::size_t kBytes = 1 << 20;
    for (const std::string_view unit : {"(",
                                        "((1,2),",
                                        "(1,2)",
                                        "(1,2),",
                                        "(1,2),(3,4)",
                                        "(0,0),(1,1)\n",
                                        "9",
                                        "$",
                                        "$a",
                                        "$$",
                                        "$$a",
                                        "\\(",
                                        "\\[",
                                        "\\$",
                                        "\\\\",
                                        "|",
                                        "|a",
                                        "| ",
                                        "<",
                                        "<table>",
                                        "<table>(1,2),(3,4)",
                                        "</table>",
                                        "<quad>",
                                        "<poly>(1,2)",
                                        "<ref>",
                                        "</ref>",
                                        "<quad>1,2,3,4</quad><ref>",
                                        "<ref>a</ref>",
                                        "<hy-meta>",
                                        "<hy-meta><layout>",
                                        "[{",
                                        "{\"a\":",
                                        "[[",
                                        "\"",
                                        "{}",
                                        "<quad>1,2,3,4</quad>",
                                        "{\"box\":[1,2,3,4]}",
                                        " ",
                                        "\n",
                                        "( ",
                                        "<answer>",
                                        "```"})
        for (const std::string_view prefix : {"", "["}) {
            const std::string text = std::string(prefix) + repeated(unit, kBytes);
            std::size_t copied = 0;
            for (const Box& box : parse_boxes(text, 100, 100)) copied += box.text.size();
            EXPECT_LE(copied, 16 * text.size()) << prefix << unit;
        }
    // A long text with a great many boxes is not copied for each of them.
    const std::string shared = std::string(kBytes, 'x') + repeated("(1,2),(3,4)", kBytes);
    const auto boxes = parse_boxes(shared, 100, 100);
    EXPECT_EQ(boxes.size(), 16U);
    EXPECT_EQ(boxes.front().text.size(), kBytes);
}

// Random strings of what the forms are made of, and of any bytes: no crash, every number in range, texts taken from the
// answer, in order.
TEST(Boxes, Fuzz) {
    const std::vector<std::string> parts = {"(1,2)",
                                            "(3,4),(500,600)",
                                            "(1000,0)",
                                            "(1001,5)",
                                            ",",
                                            "(",
                                            ")",
                                            "text",
                                            "发票",
                                            "\n",
                                            " ",
                                            "$",
                                            "$$",
                                            "\\(",
                                            "\\)",
                                            "\\[",
                                            "\\]",
                                            "|",
                                            "<table>",
                                            "</TABLE>",
                                            "<hy-meta>",
                                            "</hy-meta>",
                                            "<layout>",
                                            "</layout>",
                                            "<poly>",
                                            "</poly>",
                                            "<quad>",
                                            "</quad>",
                                            "<ref>",
                                            "</ref>",
                                            "<pos_7>",
                                            "[",
                                            "]",
                                            "{",
                                            "}",
                                            "\"box\":",
                                            "\"text\":\"a\"",
                                            "[1,2,3,4]",
                                            "\"",
                                            "\\",
                                            "<answer>",
                                            "</answer>",
                                            "```",
                                            "0",
                                            "999999999999",
                                            "-",
                                            "\xff",
                                            std::string(1, '\0')};
    std::mt19937 random(7);
    std::size_t found = 0;
    for (int round = 0; round < 60000; ++round) {
        std::string text;
        for (std::size_t length = random() % 24; length > 0; --length) {
            if (round % 8 == 0)
                text += static_cast<char>(random() % 256);
            else
                text += parts[random() % parts.size()];
        }
        const auto boxes = parse_boxes(text, 640, 480);
        found += boxes.size();
        const bool is_text = is_valid_utf8(text);
        for (const Box& box : boxes) {
            const auto inside = [](const Rectangle& r, int width, int height) {
                return 0 <= r.left && r.left <= r.right && r.right <= width && 0 <= r.top && r.top <= r.bottom &&
                       r.bottom <= height;
            };
            ASSERT_TRUE(inside(box.normalized, 1000, 1000)) << text;
            ASSERT_TRUE(inside(box.pixels, 640, 480)) << text;
            ASSERT_EQ(box.normalized_corners.size(), box.pixel_corners.size());
            ASSERT_TRUE(box.normalized_corners.empty() ||
                        (box.normalized_corners.size() >= 3 && box.normalized_corners.size() <= 8));
            ASSERT_NE(text.find(box.text), std::string::npos) << text;
            if (is_text) {
                ASSERT_TRUE(is_valid_utf8(box.text)) << text;
                ASSERT_TRUE(is_valid_utf8(box.label)) << text;
            }
        }
    }
    EXPECT_GT(found, 3000U);
}

}  // namespace inkstone::document
