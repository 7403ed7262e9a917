// Lines on standard error, each begun by the command's name.
#include "common/messages.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace inkstone::app {
namespace {

void write_error_stream(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

void say(std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    write_error_stream(INKSTONE_COMMAND ": " + std::string(text) + "\n");
}

std::string one_line(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7F) {
            line += c;
        } else {
            line += "\\x";
            line += kDigits[byte >> 4];
            line += kDigits[byte & 15];
        }
    }
    return line;
}

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(std::string_view subject, const hunyuan_ocr::Progress& progress) {
    if (!enabled_) return;
    // The last part of a path: a line that wraps could not be rewritten.
    std::string line =
        "\r\033[K" + std::filesystem::path(subject).filename().string() + ": " + std::string(progress.stage);
    if (progress.total > 0)
        line += " " +
                std::to_string(static_cast<int>(100.0 * static_cast<double>(progress.done) /
                                                static_cast<double>(progress.total))) +
                "%";
    write_error_stream(line);
    shown_ = true;
}

void ProgressLine::clear() {
    if (shown_) write_error_stream("\r\033[K");
    shown_ = false;
}

}  // namespace inkstone::app
