// SPDX-License-Identifier: Apache-2.0
// The state of the kernel at the other end of a channel.
#pragma once

#include <atomic>

#include "carillon/detail/host/named_checks.hpp"
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
    virtual void require_open() const { require_open({}); }
    virtual void require_open(
        std::string_view call) const {  // CARILLON_WITH_CALL: one overrides this
        named(call, [&] { require_open(); });
    }
    // Throws StoppedError, or what ended it, when the kernel has ended. Called from long waits.
    virtual void require_alive() { require_alive({}); }
    virtual void require_alive(std::string_view call) {  // CARILLON_WITH_CALL: as require_open()
        named(call, [&] { require_alive(); });
    }

   protected:
    [[nodiscard]] std::atomic<KernelState>& own_state() { return line_.state; }

   private:
    struct alignas(64) StateLine {
        std::atomic<KernelState> state = KernelState::starting;
    };
    StateLine line_;
};

}  // namespace carillon::detail
