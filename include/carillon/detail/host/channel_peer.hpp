// SPDX-License-Identifier: Apache-2.0
// The state of the kernel at the other end of a channel.
#pragma once

#include <atomic>

#include "carillon/kernel_state.hpp"

namespace carillon::detail {

// A channel's questions to the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // The kernel's state: every request looks at it, and proceeds if it is `running`. It is on a
    // line that is rarely written.
    [[nodiscard]] std::atomic<KernelState> const& state_word() const { return line_.state; }
    // Whether the kernel may still answer, as far as is known: one look at that word.
    [[nodiscard]] bool answers() const {
        // Acquire: replies that came before the kernel was known to have ended are then seen.
        KernelState const state = line_.state.load(std::memory_order_acquire);
        return state == KernelState::running || state == KernelState::draining;
    }
    // Throws StoppedError, or the error that ended the kernel, if it takes no more requests.
    virtual void require_open() const = 0;
    // Throws StoppedError, or the error that ended the kernel, if it has ended. Long waits call it.
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
