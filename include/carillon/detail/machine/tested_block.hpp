// SPDX-License-Identifier: Apache-2.0
// A block of the emulated device whose threads a test runs (testing.hpp). Without a test there is
// none: one thread stands for the block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/config.hpp"

#if !defined(__CUDA_ARCH__)

namespace carillon::detail {

// The calling thread's link to the other threads of its block. Each function except thread_rank(),
// size(), lanes() and shared() lets other threads run.
class TestedBlock {
   public:
    virtual ~TestedBlock() = default;
    TestedBlock& operator=(TestedBlock&&) = delete;

    [[nodiscard]] virtual unsigned thread_rank() const = 0;
    [[nodiscard]] virtual unsigned size() const = 0;
    [[nodiscard]] virtual unsigned lanes() const = 0;  // of the calling thread's warp

    virtual void sync(CodeLocation const& where) = 0;
    // sync() for the threads of a warp. `call` names the vote, for a report.
    virtual void sync_warp(char const* call) = 0;
    // Bit i is the vote of the warp's lane i.
    [[nodiscard]] virtual std::uint32_t ballot(char const* call, bool value) = 0;
    // The word of the warp's first lane.
    [[nodiscard]] virtual std::uint64_t broadcast(char const* call, std::uint64_t word) = 0;
    // Memory that all threads of the block see: one piece for each `site`.
    [[nodiscard]] virtual void* shared(void const* site, std::size_t bytes,
                                       std::size_t alignment) = 0;
    // Called when the thread calls the library.
    virtual void pass() = 0;
};

// The block of this CPU thread; nullptr: one thread is the block.
inline constinit thread_local TestedBlock* tested_block = nullptr;

inline void pass_tested() {
    if (tested_block != nullptr) [[unlikely]]
        tested_block->pass();
}

}  // namespace carillon::detail

#endif
