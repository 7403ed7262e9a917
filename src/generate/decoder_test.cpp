// What a decoder asks of a graph. Its steps are tested on whole models in tests/property.
#include "generate/decoder.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"

namespace inkstone::generate {
namespace {

TEST(Decoder, AGraphWithoutItsInputsOrOutputIsRefusedByName) {
    const auto backend = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 1));
    const char* const names[] = {"ids", "positions", "visual", "logit_rows", "logits"};
    for (const std::string missing : names) {
        graph::Builder g;
        for (const std::string name : {"ids", "positions", "visual", "logit_rows"})
            if (name != missing) g.input(name, ops::Rows::token, 1);
        if (missing != "logits") g.output("logits", g.silu(g.input("x", ops::Rows::logit, 8)));
        auto module = module::Module::create(std::move(*std::move(g).finish()), *backend);
        ASSERT_TRUE(module.ok());
        const auto decoder = Decoder::create(*module);
        ASSERT_FALSE(decoder.ok());
        EXPECT_EQ(decoder.error().code, ErrorCode::not_found);
        EXPECT_EQ(decoder.error().subject, missing);
    }
}

}  // namespace
}  // namespace inkstone::generate
