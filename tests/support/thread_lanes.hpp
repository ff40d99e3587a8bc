// SPDX-License-Identifier: Apache-2.0
// A few threads in lock step for the lanes of a warp.
#pragma once

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/voting_lanes.hpp"

namespace carillon::test {

// Values that the lanes exchange.
class LockStep {
   public:
    static constexpr unsigned most = 3;
    explicit LockStep(unsigned count) : values_(count), barrier_(count) {}

    // Waits until every lane has given its value, and returns all values, lane by lane.
    [[nodiscard]] std::vector<std::uint64_t> tell(unsigned lane, std::uint64_t value) {
        values_[lane] = value;
        barrier_.arrive_and_wait();
        std::vector<std::uint64_t> const told = values_;
        barrier_.arrive_and_wait();
        return told;
    }
    [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(values_.size()); }

   private:
    std::vector<std::uint64_t> values_;
    std::barrier<> barrier_;
};

using ThreadLanes = VotingLanes<LockStep>;

template <class Body>
void run_lanes(unsigned count, Body const& body) {
    LockStep step(count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&, i] { body(ThreadLanes(step, i)); });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace carillon::test
