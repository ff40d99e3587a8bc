// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {

// A kernel of one block and four slots, whose handler holds each request until the gate opens.
class GatedKernelTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        gate_.emplace(device());
        kernel_.emplace(device(), KernelOptions{.capacity = 4}, GatedHandler{gate_->device_view()});
    }
    void TearDown() override {
        if (gate_) gate_->open(~std::uint64_t{0});
        kernel_.reset();
    }

    auto& channel() { return kernel_->channel(); }
    Gate& gate() { return *gate_; }

   private:
    std::optional<Gate> gate_;
    std::optional<PersistentKernel<GatedHandler>> kernel_;
};

}  // namespace carillon::test
