// Memory and threads of the CPU backend. Executions are made in executions.cpp.
#include "backend/cpu/cpu_backend.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "backend/cpu/executions.h"
#include "backend/cpu/kernel_table.h"

namespace inkstone::backend::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kMaximumThreads = 1024;

// Anonymous pages, given back on destruction. Large blocks ask for huge pages: streaming is a quarter faster then.
class Pages final : public Memory {
public:
    Pages(std::byte* base, std::size_t mapped, std::byte* data, std::size_t bytes)
        : base_(base), mapped_(mapped), data_(data), bytes_(bytes) {}
    ~Pages() override { ::munmap(base_, mapped_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::byte* data() const override { return data_; }
    std::size_t bytes() const override { return bytes_; }

private:
    std::byte* base_;
    std::size_t mapped_;
    std::byte* data_;
    std::size_t bytes_;
};

}  // namespace

CpuBackend::CpuBackend(InstructionSet set, int threads) : set_(set), kernels_(kernel_table(set)), pool_(threads) {}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(InstructionSet set, int threads) {
    if (threads < 1 || threads > kMaximumThreads)
        return Error{ErrorCode::invalid_argument, "create backend", "threads",
                     "is " + std::to_string(threads) + ", expected 1 to " + std::to_string(kMaximumThreads)};
    if (!supported(set))
        return Error{ErrorCode::unsupported, "create backend", std::string(name_of(set)),
                     "this CPU has no such instructions; it can run up to " + std::string(name_of(best_set()))};
    std::unique_ptr<CpuBackend> backend(new CpuBackend(set, threads));
    if (backend->threads() < threads)
        return Error{
            ErrorCode::out_of_memory, "create backend", "threads",
            "the system gives " + std::to_string(backend->threads()) + " of the " + std::to_string(threads) +
                " that are asked for; lower the number of threads, or raise the limits of processes and memory"};
    return backend;
}

Result<std::unique_ptr<Memory>> CpuBackend::allocate(std::size_t bytes, std::string_view purpose) {
    const bool large = bytes >= 4 * kHugePage;
    const std::size_t slack = large ? kHugePage : 0;
    if (bytes > SIZE_MAX - slack)
        return Error{ErrorCode::out_of_memory, "allocate", std::string(purpose), "more bytes than there are addresses"};
    const std::size_t mapped = bytes + slack == 0 ? 1 : bytes + slack;
    void* base = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return Error{ErrorCode::out_of_memory, "allocate", std::string(purpose),
                     "the system refused " + std::to_string(bytes) + " bytes: " + std::strerror(errno)};
    auto address = reinterpret_cast<std::uintptr_t>(base);
    if (large) {
        address = (address + kHugePage - 1) & ~(kHugePage - 1);
        ::madvise(reinterpret_cast<void*>(address), bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
    }
    return std::unique_ptr<Memory>(
        new Pages(static_cast<std::byte*>(base), mapped, reinterpret_cast<std::byte*>(address), bytes));
}

Result<std::unique_ptr<Execution>> CpuBackend::prepare(const ops::Operator& operation) {
    return make_execution(operation, kernels_, pool_);
}

bool CpuBackend::parallel(std::size_t count, void (*work)(void* context, std::size_t item), void* context) {
    return pool_.run(count, [&](std::size_t item) { work(context, item); });
}

}  // namespace inkstone::backend::cpu
