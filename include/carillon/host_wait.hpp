// SPDX-License-Identifier: Apache-2.0
// How the CPU waits for the device: it polls, and never longer than it was told to.
#pragma once

#include <chrono>
#include <cstdint>

#include "carillon/access/pause.hpp"

namespace carillon {

class HostWait {
   public:
    enum class Style : std::uint8_t {
        spin,   // poll without pause: a GPU answers within microseconds
        pause,  // leave the core's other thread room; yield the processor after a while
        yield,  // yield at every poll: more threads than processors
    };

    explicit HostWait(Style style = Style::spin) : style_(style) {}

    // The style for a device whose kernel has `blocks` blocks: the emulated device's blocks are
    // threads that need processors too.
    [[nodiscard]] static HostWait for_kernel(bool emulated, unsigned blocks) {
        if (!emulated) return HostWait(Style::spin);
        return HostWait(oversubscribed(blocks) ? Style::yield : Style::pause);
    }
    [[nodiscard]] static bool oversubscribed(unsigned blocks) {
        return cpu::available_processors() < blocks + 1;
    }

    // Polls until `poll()` is true, and returns true; or returns false when `timeout` has passed.
    // About every millisecond it calls `while_waiting()`, which may throw. The clock is read
    // only once a few polls have failed, so a wait that is short costs nothing but the polls.
    template <class Poll, class WhileWaiting>
    [[nodiscard]] bool until(Poll&& poll, std::chrono::nanoseconds timeout,
                             WhileWaiting&& while_waiting) const {
        using Clock = std::chrono::steady_clock;
        std::uint64_t const mask = style_ == Style::yield ? 0 : 0xff;
        Clock::time_point start;
        Clock::duration next_call = std::chrono::milliseconds(1);
        for (std::uint64_t polls = 0;; ++polls) {  // 32 bits would wrap within seconds
            if (poll()) return true;
            relax(polls);
            if ((polls & mask) != 0) continue;
            auto const now = Clock::now();
            if (polls == 0) start = now;
            auto const waited = now - start;
            if (waited >= timeout) return false;
            if (waited >= next_call) {
                next_call = waited + std::chrono::milliseconds(1);
                while_waiting();
            }
        }
    }

    template <class Poll>
    [[nodiscard]] bool until(Poll&& poll, std::chrono::nanoseconds timeout) const {
        return until(poll, timeout, [] {});
    }

   private:
    void relax(std::uint64_t polls) const {
        if (style_ == Style::spin) return;
        cpu::pause_or_yield(static_cast<std::uint32_t>(polls), style_ == Style::yield);
    }

    Style style_;
};

}  // namespace carillon
