// The CPU as a backend: memory from the system, a thread pool, and the kernels of one instruction set.
#pragma once

#include "backend/api/backend.h"
#include "backend/cpu/instruction_set.h"
#include "base/thread_pool.h"

namespace inkstone::backend::cpu {

struct KernelTable;

class CpuBackend final : public Backend {
public:
    // threads >= 1; errors: invalid_argument (thread count), unsupported (the CPU lacks the set),
    // out_of_memory (the system gives fewer threads).
    static Result<std::unique_ptr<CpuBackend>> create(InstructionSet set, int threads);

    std::string_view name() const override { return "cpu"; }
    std::string_view instruction_set() const override { return name_of(set_); }
    int threads() const override { return pool_.threads(); }
    Result<std::unique_ptr<Memory>> allocate(std::size_t bytes, std::string_view purpose) override;
    Result<std::unique_ptr<Execution>> prepare(const ops::Operator& operation) override;
    bool parallel(std::size_t count, void (*work)(void* context, std::size_t item), void* context) override;
    void set_cancel(const std::atomic<bool>* cancel, const std::atomic<bool>* expired = nullptr) override {
        pool_.set_cancel(cancel, expired);
    }

private:
    CpuBackend(InstructionSet set, int threads);

    InstructionSet set_;
    const KernelTable& kernels_;
    ThreadPool pool_;
};

}  // namespace inkstone::backend::cpu
