// SPDX-License-Identifier: Apache-2.0
// Deadlines for calls with a timeout, durations in texts, and the errors of calls that timed out.
// Durations may have any value: 0 or less looks once, max() waits forever.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// A point in time. A time beyond the clock's range is never.
class Deadline {
   public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(std::chrono::nanoseconds timeout) : at_(later(Clock::now(), timeout)) {}

    [[nodiscard]] Deadline operator+(std::chrono::nanoseconds longer) const {
        Deadline sum(*this);
        sum.at_ = later(at_, longer);
        return sum;
    }

    [[nodiscard]] Clock::time_point at() const { return at_; }
    [[nodiscard]] bool passed() const { return at_ != never && Clock::now() >= at_; }
    // 0 once the deadline has passed.
    [[nodiscard]] std::chrono::nanoseconds left() const {
        if (at_ == never) return (std::chrono::nanoseconds::max)();
        std::chrono::nanoseconds const left = at_ - Clock::now();
        return left.count() > 0 ? left : std::chrono::nanoseconds(0);
    }

   private:
    static constexpr Clock::time_point never = (Clock::time_point::max)();

    static Clock::time_point later(Clock::time_point from, std::chrono::nanoseconds by) {
        if (by.count() <= 0) return from;
        return by < never - from ? from + by : never;
    }

    Clock::time_point at_;
};

// The duration in the largest unit that fits at least once, with four digits: "5 s", "1.5 ms".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

// The place that had no room for a request.
enum class NoRoom : std::uint8_t { channel, client, pool };

// Throw the errors of calls that timed out. `size` is the capacity of the place without room.
// `untaken` is the request whose reply occupies the next one's slot, if that is the reason;
// otherwise 0.
[[noreturn]] void throw_not_sent(NoRoom where, std::uint32_t size, std::uint64_t untaken = 0);
[[noreturn]] void throw_no_reply();
[[noreturn]] void throw_ring_full(std::chrono::nanoseconds timeout, std::uint32_t slots);
[[noreturn]] void throw_no_message(std::chrono::nanoseconds timeout);
// For calls with several messages: how many of all were done.
[[noreturn]] void throw_not_all_sent(std::size_t sent, std::size_t all, std::uint32_t size,
                                     std::uint64_t untaken);
[[noreturn]] void throw_not_all_taken(std::size_t taken, std::size_t all);
// Throws UsageError.
[[noreturn]] void throw_no_room_for_replies(std::size_t room, std::size_t all);

}  // namespace carillon::detail
