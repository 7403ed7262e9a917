// Writing with every failure noticed: short writes, a full disk, a reader that went away, a signal while waiting.
#include "common/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace inkstone::app {
namespace {

// A pipe that poll() calls writable takes this many bytes without blocking (POSIX), so that a signal is always seen.
constexpr std::size_t kChunkBytes = 4096;
constexpr int kPollMs = 50;

// The permissions that a new file gets: those of the file that it replaces, else what the umask leaves.
mode_t new_file_mode(const std::filesystem::path& target) {
    struct stat status {};
    if (stat(target.c_str(), &status) == 0) return status.st_mode & 07777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

// The file that a write to `path` reaches: links are followed to their end even when nothing is there yet. An error
// (a circle of links) leaves the path as it is, for the system to name when it is opened.
std::filesystem::path follow_links(const std::filesystem::path& path) {
    constexpr int kMostLinks = 40;  // as Linux
    std::filesystem::path file = path;
    std::error_code error;
    for (int i = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(file, error)); ++i) {
        const std::filesystem::path next = std::filesystem::read_symlink(file, error);
        if (error || i == kMostLinks) return path;
        file = file.parent_path() / next;  // an absolute link replaces what it is appended to
    }
    return file;
}

}  // namespace

Output::~Output() { discard(); }

bool Output::open(const std::filesystem::path& path) {
    name_ = path.string();
    std::error_code error;
    // A link stays a link: what it points to is replaced, or made.
    target_ = follow_links(path);
    const auto status = std::filesystem::status(target_, error);
    if (status.type() == std::filesystem::file_type::none) return fail(error.value());
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        target_.clear();
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        return descriptor_ >= 0 || fail(errno);
    }
    const auto folder = target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
    std::string name = (folder / ".hunyuan-ocr.XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) return fail(errno);
    temporary_ = name;
    if (fchmod(descriptor_, new_file_mode(target_)) != 0) return fail(errno);
    return true;
}

bool Output::write(std::string_view bytes) {
    while (!bytes.empty()) {
        if (failed() || cancel_) return false;
        pollfd waiting{descriptor_, POLLOUT, 0};
        const int ready = poll(&waiting, 1, kPollMs);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kChunkBytes));
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR && errno != EAGAIN) {
            return fail(errno);
        }
    }
    return !failed();
}

bool Output::finish() {
    if (failed()) return false;
    const int descriptor = descriptor_;
    descriptor_ = -1;
    // Some file systems report a full disk only when the data is flushed or the file closed.
    if (!temporary_.empty() && fsync(descriptor) != 0) {
        const int error = errno;
        close(descriptor);
        return fail(error);
    }
    if (close(descriptor) != 0) return fail(errno);
    if (temporary_.empty()) return true;
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return fail(errno);
    temporary_.clear();
    return true;
}

bool Output::fail(int error) {
    closed_pipe_ = error == EPIPE;
    failure_ = name_ + ": " + std::strerror(error);
    discard();
    return false;
}

void Output::discard() {
    if (descriptor_ > 2) close(descriptor_);
    descriptor_ = -1;
    if (!temporary_.empty()) unlink(temporary_.c_str());
    temporary_.clear();
}

}  // namespace inkstone::app
