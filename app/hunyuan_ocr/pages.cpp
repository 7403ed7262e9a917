// One page: picture in, answer out, what is to be said about it on standard error.
#include "hunyuan_ocr/pages.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "common/signals.h"
#include "hunyuan_ocr/input.h"
#include "hunyuan_ocr/record.h"
#include "hunyuan_ocr/report.h"

namespace inkstone::app {
namespace {

std::string display_name(const std::string& picture) { return picture == kStandardInput ? "standard input" : picture; }

// A pipe or a device under a name (/dev/stdin, <(command)) is no file; there is another way to give it.
void refuse_stream(const std::string& picture) {
    std::error_code error;
    const auto status = std::filesystem::status(picture, error);
    if (std::filesystem::is_other(status))
        throw hunyuan_ocr::Error(
            hunyuan_ocr::ErrorCode::io, "read picture", picture,
            "is a pipe or a device, expected a file; give - and send the picture to standard input");
}

// Passes an answer on as text: after a header when pages must be told apart, and with exactly one newline at its end,
// for which newlines are held back until something follows them.
class PageText {
public:
    PageText(Output& output, std::string header) : output_(output), header_(std::move(header)) {}

    bool add(std::string_view text) {
        const std::size_t end = text.find_last_not_of('\n') + 1;  // npos + 1 is 0: newlines only
        const std::string_view body = text.substr(0, end);
        bool written = begin();
        if (!body.empty()) {
            written = written && output_.write(held_) && output_.write(body);
            held_.clear();
        }
        held_ += text.substr(end);
        return written;
    }

    bool finish() { return begin() && output_.write("\n"); }
    bool begun() const { return begun_; }

private:
    bool begin() {
        if (begun_) return true;
        begun_ = true;
        return output_.write(header_);
    }

    Output& output_;
    std::string header_;
    std::string held_;
    bool begun_ = false;
};

class PageReader {
public:
    PageReader(hunyuan_ocr::Runtime& runtime, const Options& options, Output& output, ProgressLine& progress)
        : runtime_(runtime), options_(options), output_(output), progress_(progress) {}

    // Reads one picture and writes its answer. The error is what went wrong with the picture.
    std::optional<hunyuan_ocr::Error> read(const std::string& picture) {
        const std::string name = display_name(picture);
        PageText page(output_, header(name));
        try {
            const hunyuan_ocr::Result result = recognize(picture, name, page);
            progress_.clear();
            if (output_.failed() || cancel_token()) return std::nullopt;
            if (options_.json) {
                output_.write(to_json_line(picture, result));
            } else {
                if (!streams_text()) page.add(result.text);
                page.finish();
            }
            any_written_ = true;
            comment(one_line(name), result);
            return std::nullopt;
        } catch (const hunyuan_ocr::Error& error) {
            return failed(picture, page, error);
        } catch (const std::bad_alloc&) {
            return failed(picture, page,
                          {hunyuan_ocr::ErrorCode::out_of_memory, "read page", name,
                           "an allocation failed; --max-pixels makes the page smaller"});
        }
    }

private:
    // Only standard output gets text as it comes. A file gets the final text, without the copies of a loop.
    bool streams_text() const { return !options_.json && options_.output.empty(); }

    std::string header(const std::string& name) const {
        if (options_.pictures.size() < 2) return {};
        return (any_written_ ? "\n==> " : "==> ") + name + " <==\n";
    }

    hunyuan_ocr::Result recognize(const std::string& picture, const std::string& name, PageText& page) {
        hunyuan_ocr::GenerationOptions generation = options_.generation;
        generation.cancel = &cancel_token();
        // Text on the same terminal would run into the line of progress.
        const bool text_on_terminal = options_.output.empty() && isatty(STDOUT_FILENO) == 1;
        bool text_begun = false;
        generation.on_progress = [&](const hunyuan_ocr::Progress& step) {
            if (!text_begun || !text_on_terminal) progress_.show(name, step);
        };
        if (options_.stats) {
            generation.on_estimate = [&](const hunyuan_ocr::Estimate& estimate) {
                progress_.clear();
                say(estimate_text(one_line(name), estimate));
            };
        }
        hunyuan_ocr::OnText on_text;
        if (streams_text()) {
            on_text = [&](std::string_view text) {
                if (!text_begun) progress_.clear();
                text_begun = true;
                return page.add(text);
            };
        }
        std::vector<std::byte> bytes;
        if (picture != kStandardInput) refuse_stream(picture);
        if (picture == kStandardInput) bytes = read_standard_input(cancel_token());
        const auto image =
            picture == kStandardInput ? hunyuan_ocr::Image::encoded(bytes) : hunyuan_ocr::Image::file(picture);
        try {
            return runtime_.recognize(image, options_.prompt, generation, on_text);
        } catch (const hunyuan_ocr::Error& error) {
            // The library does not know where bytes came from.
            if (picture != kStandardInput || error.subject() != "image") throw;
            throw hunyuan_ocr::Error(error.code(), error.stage(), name, error.message());
        }
    }

    // Reports a failure, unless it is that of a cancelled call.
    std::optional<hunyuan_ocr::Error> failed(const std::string& picture, PageText& page,
                                             const hunyuan_ocr::Error& error) {
        progress_.clear();
        if (page.begun()) {
            page.finish();
            any_written_ = true;
        }
        if (cancel_token() || output_.failed()) return std::nullopt;
        const std::string name = display_name(picture);
        say(one_line((error.subject() == name ? "" : name + ": ") + error.what()));
        if (options_.json) output_.write(to_json_line(picture, error));
        return error;
    }

    // What a person should know about an answer that did arrive.
    void comment(const std::string& name, const hunyuan_ocr::Result& result) const {
        const hunyuan_ocr::ImageInfo& image = result.image;
        const std::int64_t pixels = std::int64_t{image.width} * image.height;
        if (!options_.quiet && runtime_.max_pixels_lowered() && pixels > runtime_.max_pixels()) {
            say(name + ": " + std::to_string(image.width) + "x" + std::to_string(image.height) + " was read at " +
                std::to_string(image.resized_width) + "x" + std::to_string(image.resized_height) +
                ": on the CPU a page is reduced to " + std::to_string(runtime_.max_pixels()) +
                " pixels; --max-pixels " + std::to_string(pixels) + " keeps more, and takes longer");
        }
        if (result.finish_reason == hunyuan_ocr::FinishReason::length) {
            say(name + ": the text may be cut: the answer reached " + std::to_string(result.tokens.size()) +
                " tokens, the most allowed; raise --max-new-tokens");
        } else if (result.finish_reason == hunyuan_ocr::FinishReason::context_full) {
            say(name + ": the text may be cut: picture and answer fill the model's " +
                std::to_string(result.state.sequence_length) + " positions; lower --max-pixels");
        } else if (result.finish_reason == hunyuan_ocr::FinishReason::repetition) {
            say(name + ": the text may be cut: the answer began to repeat itself after " +
                std::to_string(result.tokens.size()) + " tokens; --repetition-guard off reads on");
        } else if (result.finish_reason == hunyuan_ocr::FinishReason::time_limit) {
            say(name + ": the text may be cut: the time limit was over after " + std::to_string(result.tokens.size()) +
                " tokens; raise --time-limit");
        }
        if (options_.stats) {
            say(statistics_text(name, result));
        } else if (options_.verbose) {
            say(name + ": memory: " + memory_text(result.profile));
        }
    }

    hunyuan_ocr::Runtime& runtime_;
    const Options& options_;
    Output& output_;
    ProgressLine& progress_;
    bool any_written_ = false;
};

}  // namespace

Exit read_pages(hunyuan_ocr::Runtime& runtime, const Options& options, Output& output, ProgressLine& progress) {
    PageReader reader(runtime, options, output, progress);
    Exit exit = Exit::success;
    for (const std::string& picture : options.pictures) {
        const auto error = reader.read(picture);
        if (error) exit = options.pictures.size() > 1 ? Exit::pages_failed : exit_of(error->code());
        if (output.failed() || cancel_token()) break;
    }
    return exit;
}

}  // namespace inkstone::app
