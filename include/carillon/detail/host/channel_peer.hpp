// SPDX-License-Identifier: Apache-2.0
// The state of the kernel at the other end of a channel.
#pragma once

#include <atomic>

#include "carillon/kernel_state.hpp"

namespace carillon::detail {

// What a channel asks about the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // What the kernel is at: every request looks at it, and goes on where it is `running`. On a
    // line that nobody writes meanwhile.
    [[nodiscard]] std::atomic<KernelState> const& state_word() const { return line_.state; }
    // Whether it may answer still, as far as is known: one look at that word.
    [[nodiscard]] bool answers() const {
        // Acquire: what had come before the kernel was known to have ended is seen then.
        KernelState const state = line_.state.load(std::memory_order_acquire);
        return state == KernelState::running || state == KernelState::draining;
    }
    // Throws StoppedError when no request is taken any more, and what ended the kernel.
    virtual void require_open() const = 0;
    // Throws StoppedError, or what ended it, when the kernel has ended. Called from long waits.
    virtual void require_alive() = 0;

   protected:
    [[nodiscard]] std::atomic<KernelState>& own_state() { return line_.state; }

   private:
    struct alignas(64) StateLine {
        std::atomic<KernelState> state = KernelState::starting;
    };
    StateLine line_;
};

}  // namespace carillon::detail
