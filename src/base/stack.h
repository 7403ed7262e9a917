// How much stack the calling thread has left: threads of an embedding program may have little (128 KiB is the default
// of some C libraries), and running out of it ends the process without a word. Used by thread_pool.cpp and runtime/.
#pragma once

#include <cstddef>
#include <optional>

namespace inkstone {

// What a thread needs that runs operators or decodes pictures: kernels keep their blocks on the stack. engine.md and
// runtime.h state it to callers; runtime_test.cpp runs everything on a thread that has just as much.
inline constexpr std::size_t kNeededStackBytes = std::size_t{256} << 10;

// Bytes between here and the end of this thread's stack; nothing when the system does not say, or when this code runs
// on a stack that is not the thread's own (a coroutine's).
std::optional<std::size_t> stack_left();

}  // namespace inkstone
