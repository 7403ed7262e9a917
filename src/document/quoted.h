// Parts of an answer whose coordinates are content, never boxes: HTML tables, rows of Markdown tables, formulas.
#pragma once

#include <cstddef>
#include <string_view>

namespace inkstone::document {

// Asked at one position after the other, in order; all answers together take time linear in the text.
class QuotedParts {
public:
    explicit QuotedParts(std::string_view text) : text_(text) {}

    // Where the part that begins at `at` ends; `at` when none begins there.
    //   <table ...> to its </table>, tables in it included, in any case of letters; to the end when it is not closed
    //   $$...$$, \(...\), \[...\]; $...$ on one line, by Pandoc's rules, so that prices are no formulas
    //   a line that begins and ends with |
    std::size_t end_of_part_at(std::size_t at);

private:
    std::size_t table_end(std::size_t at) const;
    std::size_t row_end(std::size_t at) const;
    std::size_t inline_formula_end(std::size_t at) const;
    std::size_t closed_end(std::size_t at, std::size_t opening_bytes, std::string_view closing, bool& absent) const;

    std::string_view text_;
    // Closings that the rest of the text does not hold: not looked for again.
    bool no_dollars_ = false, no_parenthesis_ = false, no_bracket_ = false;
};

}  // namespace inkstone::document
