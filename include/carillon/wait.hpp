// SPDX-License-Identifier: Apache-2.0
// `HostWait`: how the CPU waits for the device. It polls, and never longer than its timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "carillon/arguments.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/device_traits.hpp"

namespace carillon {

// The action between two polls. All styles except `spin` yield the processor after a while, so that
// all threads make progress if there are more of them than processors.
enum class WaitStyle : std::uint8_t {
    spin,    // do nothing: a GPU answers within microseconds
    pause,   // leave execution units to the core's other thread
    yield,   // yield at every poll: for more threads than processors
    tpause,  // sleep lightly for a fraction of a microsecond (TPAUSE)
    umwait,  // sleep lightly until the awaited line is written (UMONITOR, UMWAIT); like tpause if
             // that line is unknown
};

[[nodiscard]] std::string_view to_string(WaitStyle style);  // its name, such as "spin"
// Returns the style of that name, or nothing.
[[nodiscard]] std::optional<WaitStyle> wait_style(NameArgument name);
// Whether this CPU has the instructions.
[[nodiscard]] bool supported(WaitStyle style);

namespace detail {

[[nodiscard]] constexpr bool needs_waitpkg(WaitStyle style) {
    return style == WaitStyle::tpause || style == WaitStyle::umwait;
}
[[noreturn]] void throw_no_waitpkg(WaitStyle style);

}  // namespace detail

// Waits by polling, in a style. `Cpu` provides the instructions.
template <class Cpu>
class BasicHostWait {
   public:
    using Style = WaitStyle;  // HostWait::Style in options
    struct DoNothing {
        void operator()() const {}
    };

    // Throws UnsupportedError if this CPU lacks the instructions for the style.
    explicit BasicHostWait(Style style = Style::spin, Cpu cpu = Cpu()) : style_(style), cpu_(cpu) {
        detail::in_call("HostWait", [&] {
            if (detail::needs_waitpkg(style) && !cpu_.has_waitpkg())
                detail::throw_no_waitpkg(style);
        });
    }

    // The default style for a kernel of `blocks` blocks on a device with such traits, or `chosen`.
    [[nodiscard]] static BasicHostWait for_kernel(DeviceTraits const& traits, unsigned blocks,
                                                  std::optional<Style> chosen = {}) {
        if (chosen) return BasicHostWait(*chosen);
        if (!traits.shares_processors) return BasicHostWait(Style::spin);
        return BasicHostWait(oversubscribed(blocks) ? Style::yield : Style::pause);
    }
    // Whether `blocks` blocks and one host thread outnumber this process's processors.
    [[nodiscard]] static bool oversubscribed(unsigned blocks) {
        return detail::cpu::available_processors() <= blocks;
    }

    [[nodiscard]] Style style() const { return style_; }  // given, or chosen by for_kernel()

    // Polls until `poll()` is true and returns true, or returns false after `timeout`. About every
    // millisecond, and at the timeout, it calls `while_waiting()`, which may throw. If that throws,
    // or the timeout has passed, it polls once more, to find replies that came during the call or
    // while this thread did not run. It reads the clock only after a few failed polls, so a short
    // wait costs only the polls. `watched()` returns an address in the line whose next write the
    // poll waits for, or nullptr. It is called before every sleep: a poll may move to another line.
    template <class Poll, class Watched, class WhileWaiting = DoNothing>
    [[nodiscard]] bool until(Poll&& poll, Watched&& watched, std::chrono::nanoseconds timeout,
                             WhileWaiting&& while_waiting = {}) const {
        using Clock = std::chrono::steady_clock;
        Clock::time_point start;
        Clock::duration next_call = std::chrono::milliseconds(1);
        for (std::uint64_t polls = 0;; ++polls) {  // 32 bits would wrap within seconds
            if (poll()) return true;
            if (looks_at_clock(polls)) {  // before the sleep: nothing delays the poll after it
                auto const now = Clock::now();
                if (polls == 0) start = now;
                auto const waited = now - start;
                bool const over = waited >= timeout;
                if (over || waited >= next_call) {
                    next_call = waited + std::chrono::milliseconds(1);
                    if (came_meanwhile(poll, while_waiting)) return true;
                }
                if (over) return poll();
            }
            if (style_ == Style::spin) {  // only polls until the next look at the clock
                for (unsigned i = 1; i < polls_between_looks; ++i) {
                    if (poll()) return true;
                }
                polls += polls_between_looks - 1;
            } else if (relax(polls, poll, watched)) {
                return true;
            }
        }
    }

    // Reads the clock like a wait does, to have its code and data in the caches.
    void warm() const { (void)std::chrono::steady_clock::now(); }

    // Waits for memory at an unknown address: watches no line.
    template <class Poll, class WhileWaiting = DoNothing>
    [[nodiscard]] bool until(Poll&& poll, std::chrono::nanoseconds timeout,
                             WhileWaiting&& while_waiting = {}) const {
        return until(poll, unknown, timeout, while_waiting);
    }

   private:
    static constexpr unsigned polls_between_looks = 256;

    static void const* unknown() { return nullptr; }

    // Calls `while_waiting()`. Returns true if the call threw although a last poll succeeds.
    template <class Poll, class WhileWaiting>
    [[gnu::noinline, gnu::cold]] static bool came_meanwhile(Poll& poll,
                                                            WhileWaiting& while_waiting) {
        try {
            while_waiting();
        } catch (...) {
            if (poll()) return true;
            throw;
        }
        return false;
    }

    // The number of polls before the first yield.
    [[nodiscard]] std::uint64_t first_yield() const {
        switch (style_) {
            case Style::spin:
                return (std::numeric_limits<std::uint64_t>::max)();
            case Style::yield:
                return 0;
            case Style::umwait:  // each of its sleeps may take microseconds
                return detail::cpu::polls_before_yield / 16;
            case Style::pause:
            case Style::tpause:
                break;
        }
        return detail::cpu::polls_before_yield;
    }

    // The polls between two looks at the clock take a few microseconds together. One sleep may take
    // as long, and a yield much longer.
    [[nodiscard]] bool looks_at_clock(std::uint64_t polls) const {
        if (polls >= first_yield() || style_ == Style::umwait) return true;
        return polls % (style_ == Style::tpause ? 16 : polls_between_looks) == 0;
    }

    // Spends the time until the next poll. Returns true if it polled successfully itself.
    template <class Poll, class Watched>
    bool relax(std::uint64_t polls, Poll& poll, Watched& watched) const {
        bool const yields = polls >= first_yield();
        if (yields) cpu_.yield();
        if (style_ == Style::pause && !yields) cpu_.pause();
        if (style_ == Style::tpause) cpu_.timed_pause();
        return style_ == Style::umwait && sleep_until_written(poll, watched);
    }

    template <class Poll, class Watched>
    bool sleep_until_written(Poll& poll, Watched& watched) const {
        void const* const line = watched();
        if (line == nullptr) {
            cpu_.timed_pause();
            return false;
        }
        cpu_.monitor(line);
        if (poll()) return true;  // written before it was monitored
        if (watched() == line) cpu_.monitored_wait();
        return false;
    }

    Style style_;
    [[no_unique_address]] Cpu cpu_;
};

// Waits with the instructions of this CPU.
using HostWait = BasicHostWait<detail::cpu::Waits>;

}  // namespace carillon
