// The stack of a thread as the C library knows it.
#include "base/stack.h"

#include <pthread.h>

#include <cstdint>

namespace inkstone {

std::optional<std::size_t> stack_left() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::nullopt;
    void* lowest = nullptr;
    std::size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (!known || here < begin || here - begin > size) return std::nullopt;
    return here - begin;
}

}  // namespace inkstone
