// A small graph run through the executor: results, reuse of plans and the arena, taps, cancelling.
#include "module/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "backend/cpu/cpu_backend.h"

namespace inkstone::module {
namespace {

using ops::Rows;

RowCounts token_rows(std::size_t rows) {
    RowCounts counts{};
    counts[static_cast<std::size_t>(Rows::token)] = rows;
    return counts;
}

class SessionTest : public ::testing::Test {
protected:
    // y = w * x, z = y + y, with w = 2 on the diagonal.
    void SetUp() override {
        for (std::size_t i = 0; i < 4; ++i) weights_[i * 4 + i] = 2;
        graph::Builder g;
        const auto x = g.input("x", Rows::token, 4);
        const tensor::TensorView view{tensor::DataType::f32, tensor::Shape{4, 4}, std::as_bytes(std::span(weights_))};
        const auto y = g.linear(x, g.matrix("w", view, 4, 4));
        g.tap("y", y);
        g.output("z", g.add(y, y));
        backend_ = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 2));
        module_ = *Module::create(std::move(*std::move(g).finish()), *backend_);
    }

    float weights_[16] = {};
    std::unique_ptr<backend::cpu::CpuBackend> backend_;
    std::shared_ptr<const Module> module_;
};

TEST_F(SessionTest, RunsAnyNumberOfRows) {
    auto session = std::move(*Session::create(module_, {"y"}));
    std::vector<float> x(600 * 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    session->bind(module_->graph().inputs.at("x"), x.data());
    for (const std::size_t rows : {1U, 512U, 3U, 17U, 64U, 65U, 1U}) {
        ASSERT_TRUE(session->run(token_rows(rows), {}, {}).ok());
        const float* z = session->value(module_->graph().outputs.at("z"));
        const float* y = session->value(module_->graph().taps.at("y"));
        for (std::size_t i = 0; i < rows * 4; ++i) {
            ASSERT_EQ(y[i], 2 * x[i]);
            ASSERT_EQ(z[i], 4 * x[i]);
        }
        EXPECT_GE(session->arena_bytes(), session->planned_bytes(token_rows(rows)));
    }
    EXPECT_EQ(session->arena_bytes(), session->planned_bytes(token_rows(512)));
}

TEST_F(SessionTest, ReserveMakesTheArenaBeforehand) {
    auto session = std::move(*Session::create(module_));
    EXPECT_EQ(session->arena_bytes(), 0U);
    ASSERT_TRUE(session->reserve(token_rows(20)).ok());
    EXPECT_EQ(session->arena_bytes(), session->planned_bytes(token_rows(64)));
    EXPECT_EQ(session->planned_bytes(token_rows(17)), session->planned_bytes(token_rows(64)));  // one bucket
}

TEST_F(SessionTest, ACancelledRunLeavesItUsable) {
    auto session = std::move(*Session::create(module_));
    const float x[4] = {1, 2, 3, 4};
    session->bind(module_->graph().inputs.at("x"), x);
    const std::atomic<bool> cancel{true};
    backend_->set_cancel(&cancel);
    const Status status = session->run(token_rows(1), {}, {});
    backend_->set_cancel(nullptr);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::cancelled);
    ASSERT_TRUE(session->run(token_rows(1), {}, {}).ok());
    EXPECT_EQ(session->value(module_->graph().outputs.at("z"))[3], 16);
}

TEST_F(SessionTest, AnUnknownTapIsNamed) {
    const auto session = Session::create(module_, {"nothing"});
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().code, ErrorCode::not_found);
    EXPECT_EQ(session.error().subject, "nothing");
}

}  // namespace
}  // namespace inkstone::module
