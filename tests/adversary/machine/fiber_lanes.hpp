// SPDX-License-Identifier: Apache-2.0
// Threads of the machine's device as the lanes of a warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "adversary/machine/machine.hpp"
#include "support/voting_lanes.hpp"

namespace carillon::test {

// Values that the lanes exchange outside of the machine: the exchange orders none of their loads
// and stores.
class LaneVotes {
   public:
    static constexpr unsigned most = 4;
    using Told = std::array<std::uint64_t, most>;

    LaneVotes(Machine& machine, unsigned lanes) : machine_(machine), lanes_(lanes) {}

    // Waits until every lane has given its value, and returns all values.
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

// Memory that the lanes share: a lane sees what another has written when both have met in a
// barrier. A vote makes nothing visible.
template <class T>
class LaneMemory {
   public:
    [[nodiscard]] T& of(unsigned lane) { return seen_.at(lane); }

    void hand_in(unsigned lane) {
        for (std::size_t i = 0; i != sizeof(T); ++i) {
            std::byte const mine = bytes(seen_.at(lane))[i];
            if (mine != bytes(agreed_)[i]) bytes(next_)[i] = mine;
        }
    }
    // When all have handed in, and before any does again.
    void hand_out(unsigned lane) { seen_.at(lane) = agreed_ = next_; }

   private:
    static std::byte* bytes(T& memory) { return reinterpret_cast<std::byte*>(&memory); }

    std::array<T, LaneVotes::most> seen_{};
    T agreed_{};
    T next_{};
};

template <class T>
class SharingLanes : public FiberLanes {
   public:
    SharingLanes(LaneVotes& votes, LaneMemory<T>& memory, unsigned rank)
        : FiberLanes(votes, rank), memory_(&memory) {}

    void sync() const {
        memory_->hand_in(thread_rank());
        FiberLanes::sync();
        memory_->hand_out(thread_rank());
        FiberLanes::sync();
    }

   private:
    LaneMemory<T>* memory_;
};

}  // namespace carillon::test
