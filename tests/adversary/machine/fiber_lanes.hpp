// SPDX-License-Identifier: Apache-2.0
// Threads of the machine's device as the lanes of a warp.
#pragma once

#include <array>
#include <cstdint>

#include "adversary/machine/machine.hpp"
#include "support/voting_lanes.hpp"

namespace carillon::test {

// What the lanes tell each other, past the machine: it orders nothing of what they load and store.
class LaneVotes {
   public:
    static constexpr unsigned most = 4;
    using Told = std::array<std::uint64_t, most>;

    LaneVotes(Machine& machine, unsigned lanes) : machine_(machine), lanes_(lanes) {}

    // What every lane has told, when all have.
    [[nodiscard]] Told tell(unsigned lane, std::uint64_t value) {
        telling_.at(lane) = value;
        std::uint64_t const round = round_;
        if (++here_ == lanes_) {
            here_ = 0;
            told_ = telling_;
            ++round_;
        }
        while (round_ == round) machine_.pause(Side::device);
        return told_;
    }
    [[nodiscard]] unsigned lanes() const { return lanes_; }

   private:
    Machine& machine_;
    unsigned lanes_;
    Told telling_{};
    Told told_{};
    unsigned here_ = 0;
    std::uint64_t round_ = 0;
};

using FiberLanes = VotingLanes<LaneVotes>;

}  // namespace carillon::test
