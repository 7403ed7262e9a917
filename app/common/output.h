// Where the answer goes: standard output, written as it comes, or a file that appears whole or not at all. Used by
// pages.cpp and main.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

class Output {
public:
    // Standard output.
    explicit Output(const hunyuan_ocr::CancelToken& cancel) : cancel_(cancel) {}
    ~Output();
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    // Writes to a new file beside `path` that finish() puts in its place. A path that is not a plain file (a device, a
    // pipe) is written directly. False: it cannot be opened, see failure().
    bool open(const std::filesystem::path& path);

    // Writes all of `bytes`, waiting for a slow reader. False: failed or cancelled, now and in all later calls.
    bool write(std::string_view bytes);

    // Puts the file in its place. False: it could not be written; nothing is left behind.
    bool finish();

    bool failed() const { return !failure_.empty(); }
    // Whether the failure is that the reader of a pipe went away.
    bool closed_pipe() const { return closed_pipe_; }
    // "NAME: what the operating system said"; empty while nothing failed.
    const std::string& failure() const { return failure_; }

private:
    bool fail(int error);
    void discard();

    const hunyuan_ocr::CancelToken& cancel_;
    int descriptor_ = 1;
    std::string name_ = "standard output";
    std::filesystem::path target_, temporary_;  // empty: no file to rename
    std::string failure_;
    bool closed_pipe_ = false;
};

}  // namespace inkstone::app
