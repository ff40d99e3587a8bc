// SPDX-License-Identifier: Apache-2.0
// Threads of the machine's device as the lanes of a warp.
#pragma once

#include <array>
#include <cstdint>

#include "adversary/machine/machine.hpp"

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

class FiberLanes {
   public:
    static constexpr unsigned most = LaneVotes::most;
    FiberLanes(LaneVotes& votes, unsigned rank) : votes_(&votes), rank_(rank) {}

    [[nodiscard]] unsigned thread_rank() const { return rank_; }
    [[nodiscard]] unsigned size() const { return votes_->lanes(); }
    [[nodiscard]] bool all(bool value) const { return count(value) == size(); }
    [[nodiscard]] bool any(bool value) const { return count(value) != 0; }
    [[nodiscard]] unsigned count(bool value) const { return sum(value, size()); }
    [[nodiscard]] unsigned count_before(bool value) const { return sum(value, rank_); }
    [[nodiscard]] std::uint64_t broadcast(std::uint64_t word) const {
        return votes_->tell(rank_, word)[0];
    }
    void sync() const { (void)votes_->tell(rank_, 0); }

   private:
    [[nodiscard]] unsigned sum(bool value, unsigned lanes) const {
        auto const told = votes_->tell(rank_, value ? 1 : 0);
        unsigned sum = 0;
        for (unsigned i = 0; i != lanes; ++i) sum += told[i] != 0 ? 1 : 0;
        return sum;
    }

    LaneVotes* votes_;
    unsigned rank_;
};

}  // namespace carillon::test
