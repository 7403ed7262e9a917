// What executions of the CPU backend share: reaching a value's memory at run time, and cutting element-wise work into
// chunks for the pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "backend/api/backend.h"
#include "base/thread_pool.h"
#include "ops/operators.h"

namespace inkstone::backend::cpu {

// Below this many elements a job is not worth waking the other threads.
inline constexpr std::size_t kElementsAlone = 16384;
// A chunk of element-wise work: small enough to cancel within milliseconds and to share evenly.
inline constexpr std::size_t kElementsPerChunk = 32768;
template <class Function>
class FunctionExecution final : public Execution {
public:
    explicit FunctionExecution(Function function) : function_(std::move(function)) {}
    bool run(const RunContext& context) const override { return function_(context); }

private:
    Function function_;
};

template <class Function>
std::unique_ptr<Execution> wrap(Function function) {
    return std::make_unique<FunctionExecution<Function>>(std::move(function));
}

template <class T>
T* memory(const RunContext& context, const ops::Operand& operand) {
    return static_cast<T*>(context.values[operand.value]);
}

inline std::size_t rows(const RunContext& context, const ops::Operand& operand) {
    return context.rows[static_cast<std::size_t>(operand.rows)];
}

// Calls work(first, end) over [0, count) items of `elements` each, from all threads when it is worth it.
template <class Work>
bool share(ThreadPool& pool, std::size_t count, std::size_t elements, const Work& work) {
    if (count == 0 || pool.cancelled()) return !pool.cancelled();
    if (count * elements <= kElementsAlone || count == 1) {
        work(std::size_t{0}, count);
        return true;
    }
    const std::size_t even =
        (count + static_cast<std::size_t>(pool.threads()) - 1) / static_cast<std::size_t>(pool.threads());
    const std::size_t chunk = std::clamp<std::size_t>(kElementsPerChunk / std::max<std::size_t>(elements, 1), 1, even);
    return pool.run((count + chunk - 1) / chunk,
                    [&](std::size_t item) { work(item * chunk, std::min(count, (item + 1) * chunk)); });
}

}  // namespace inkstone::backend::cpu
