// SPDX-License-Identifier: Apache-2.0
// Whether a client of another process keeps to what the library's do, as far as its own count of
// its requests says. It may write anything there at any time.
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/counter_words.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Of one lease. No client of the library's writes what two looks in a row find wrong: each counts
// upwards, a request before its reply, and never has more under way than there are slots. What is
// read is of no one moment, and only what that cannot explain is wrong.
class CounterWatch {
   public:
    // Nothing has gone through yet.
    void begin(Sequence first) { *this = CounterWatch(first - 1); }
    // What is wrong, for people; nullptr: nothing, or it is the first time.
    [[nodiscard]] char const* look(CounterWords& words, std::uint32_t capacity);
    // The same of what was read, in this order, while the client went on.
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

    Sequence submitted_ = 0;  // the highest that were seen
    Sequence taken_ = 0;
    bool suspected_ = false;
};

}  // namespace carillon::detail
