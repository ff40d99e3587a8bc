// SPDX-License-Identifier: Apache-2.0
// The last things that happened on the machine, for the message of a failing seed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "adversary/machine/cells.hpp"

namespace carillon::test {

struct Event {
    enum class Kind : std::uint8_t {
        store,
        load,
        fence,
        evict,
        arrive,
        flush,
        invalidate,
        read_back,
        stall,
    };
    std::uint32_t step;
    Kind kind;
    Side side;
    std::uint8_t words;  // how many of `word` are meant
    Cell cell;
    std::array<std::uint64_t, 2> word;
};

class Trace {
   public:
    void reset() { events_ = 0; }

    // Leaves out a poll: a load that returns what the same load returned just before.
    void add(std::uint32_t step, Event::Kind kind, Side side, Cell cell,
             std::span<std::uint64_t const> words);

    // One line per event, the oldest first.
    [[nodiscard]] std::string text() const;

   private:
    [[nodiscard]] bool is_poll(Event const& event) const;

    std::array<Event, 40> last_{};
    std::uint32_t events_ = 0;
};

}  // namespace carillon::test
