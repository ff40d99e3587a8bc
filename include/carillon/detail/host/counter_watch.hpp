// SPDX-License-Identifier: Apache-2.0
// Checks whether a client of another process follows the protocol, by its own count of requests.
// The client may write anything there at any time.
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// For one lease. A client of the library never fails two looks in a row: each number only grows, a
// request comes before its reply, and no more requests are outstanding than there are slots. The
// numbers are read at different moments, and only what that cannot explain is a fault.
class CounterWatch {
   public:
    // Begins anew, with no messages so far.
    void begin(Sequence first) { *this = CounterWatch(first - 1); }
    // The fault, for people; nullptr: none, or it is the first time.
    [[nodiscard]] char const* look(CounterWords& words, std::uint32_t capacity);
    // Checks numbers that were read in this order, while the client went on.
    struct Read {
        Sequence taken;
        Sequence submitted;
        Sequence taken_later;
    };
    [[nodiscard]] char const* look(Read const& read, std::uint32_t capacity);

    CounterWatch() = default;

   private:
    explicit CounterWatch(Sequence before) : submitted_(before), taken_(before) {}
    [[nodiscard]] char const* wrong(Read const& read, std::uint32_t capacity);

    Sequence submitted_ = 0;  // the highest seen so far
    Sequence taken_ = 0;
    bool suspected_ = false;
};

}  // namespace carillon::detail
