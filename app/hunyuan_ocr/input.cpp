// Reads standard input in blocks, looking at the cancel token while nothing comes.
#include "hunyuan_ocr/input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace inkstone::app {
namespace {

// An endless stream must not take the machine's memory; no picture that a page is made of is as long.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::size_t kBlockBytes = 65536;
constexpr int kPollMs = 50;

hunyuan_ocr::Error failure(hunyuan_ocr::ErrorCode code, std::string message) {
    return {code, "read picture", "standard input", std::move(message)};
}

}  // namespace

std::vector<std::byte> read_standard_input(const hunyuan_ocr::CancelToken& cancel) {
    using hunyuan_ocr::ErrorCode;
    std::vector<std::byte> bytes;
    std::vector<std::byte> block(kBlockBytes);
    while (true) {
        if (cancel) throw failure(ErrorCode::cancelled, "stopped while waiting for the picture");
        pollfd waiting{STDIN_FILENO, POLLIN, 0};
        const int ready = poll(&waiting, 1, kPollMs);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
        if (count < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            throw failure(ErrorCode::io, std::strerror(errno));
        }
        if (count == 0) return bytes;
        bytes.insert(bytes.end(), block.begin(), block.begin() + count);
        if (bytes.size() > kMostBytes)
            throw failure(ErrorCode::unsupported,
                          "found more than " + std::to_string(kMostBytes) +
                              " bytes, the most that is read from it; give the picture as a file");
    }
}

}  // namespace inkstone::app
