// Every request of the program and its libraries for memory passes here.
#include "testing/allocations.h"

#include <cstdint>

namespace inkstone::testing {

std::atomic<std::size_t> largest_request_bytes{0};

namespace {

void note(std::size_t bytes) {
    if (bytes > largest_request_bytes.load(std::memory_order_relaxed)) largest_request_bytes = bytes;
}

}  // namespace
}  // namespace inkstone::testing

#if defined(__SANITIZE_ADDRESS__)

// As sanitizer/allocator_interface.h declares it, which not every compiler installs.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));

namespace {
// The sanitizer has its own allocator, which tells of every request that it serves; one that it refuses ends the test.
const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t bytes) { inkstone::testing::note(bytes); }, [](const volatile void*) {});
}  // namespace

bool inkstone::testing::sees_requests() { return installed > 0; }

#elif defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept {
    inkstone::testing::note(bytes);
    return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
    inkstone::testing::note(bytes == 0 || count <= SIZE_MAX / bytes ? count * bytes : SIZE_MAX);
    return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t bytes) noexcept {
    inkstone::testing::note(bytes);
    return __libc_realloc(memory, bytes);
}
}

bool inkstone::testing::sees_requests() { return true; }

#else

bool inkstone::testing::sees_requests() { return false; }

#endif
