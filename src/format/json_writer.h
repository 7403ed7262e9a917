// Writes JSON on one line, keys in the order given: the command's --json output and file headers. What comes out is
// always valid JSON in UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inkstone::format {

// "text" in quotation marks with what must be escaped escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

//     JsonWriter writer;
//     writer.begin_object().key("text").text("…").key("tokens").begin_list().integer(7).end_list().end_object();
//     std::cout << writer.str() << '\n';
// Calls out of order (a value without its key, an end without its begin) are the caller's bug: asserted.
class JsonWriter {
public:
    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_list();
    JsonWriter& end_list();
    JsonWriter& key(std::string_view name);
    JsonWriter& text(std::string_view value);
    JsonWriter& integer(std::int64_t value);
    JsonWriter& unsigned_integer(std::uint64_t value);
    // The shortest form that reads back equal; null for infinity and NaN, which JSON cannot write.
    JsonWriter& number(double value);
    JsonWriter& boolean(bool value);
    JsonWriter& null();

    // The document, when every begin has its end.
    const std::string& str() const;

private:
    struct Level {
        bool is_object;
        bool has_values;
    };
    void before_value();
    JsonWriter& end(char bracket, bool is_object);

    std::string out_;
    std::vector<Level> levels_;
    bool after_key_ = false;
};

}  // namespace inkstone::format
