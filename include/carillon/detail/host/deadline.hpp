// SPDX-License-Identifier: Apache-2.0
// A timeout as a time on the clock.
//
// Every duration of the interface may have any value: 0 or less looks once, max() waits for ever.
#pragma once

#include <chrono>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// A time beyond the clock's range is never.
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

}  // namespace carillon::detail
