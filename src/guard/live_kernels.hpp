// SPDX-License-Identifier: Apache-2.0
// The CUDA contexts in which kernels live, for calls that would wait for them.
#pragma once

#include <array>
#include <atomic>

namespace carillon::detail {

// The CUDA contexts in which kernels live, one entry for each kernel. It takes no lock, since it is
// asked within CUDA calls.
class LiveKernels {
   public:
    void started(void* context) noexcept;
    void ended(void* context) noexcept;
    [[nodiscard]] bool any() const noexcept { return count_.load() != 0; }
    // A context of nullptr is unknown, and may be any.
    [[nodiscard]] bool in(void const* context) const noexcept;

   private:
    std::array<std::atomic<void*>, 64> contexts_{};
    std::atomic<unsigned> others_{0};  // kernels without an entry: they may be in any context
    std::atomic<unsigned> count_{0};
};

// The live kernels of this process.
[[nodiscard]] LiveKernels& live_kernels() noexcept;

}  // namespace carillon::detail
