// SPDX-License-Identifier: Apache-2.0
// A few threads in lock step for the lanes of a warp.
#pragma once

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace carillon::test {

// What the lanes tell each other.
class LockStep {
   public:
    explicit LockStep(unsigned count) : values_(count), barrier_(count) {}

    // What every lane has told, lane by lane.
    [[nodiscard]] std::vector<std::uint64_t> tell(unsigned lane, std::uint64_t value) {
        values_[lane] = value;
        barrier_.arrive_and_wait();
        std::vector<std::uint64_t> const told = values_;
        barrier_.arrive_and_wait();
        return told;
    }
    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(values_.size()); }

   private:
    std::vector<std::uint64_t> values_;
    std::barrier<> barrier_;
};

class ThreadLanes {
   public:
    static constexpr unsigned most = 3;
    ThreadLanes(LockStep& step, unsigned rank) : step_(&step), rank_(rank) {}

    [[nodiscard]] unsigned thread_rank() const { return rank_; }
    [[nodiscard]] unsigned size() const { return step_->count(); }
    [[nodiscard]] bool all(bool value) const { return sum(value, size()) == size(); }
    [[nodiscard]] bool any(bool value) const { return sum(value, size()) != 0; }
    [[nodiscard]] unsigned count(bool value) const { return sum(value, size()); }
    [[nodiscard]] unsigned count_before(bool value) const { return sum(value, rank_); }
    [[nodiscard]] std::uint64_t broadcast(std::uint64_t word) const {
        return step_->tell(rank_, word)[0];
    }
    void sync() const { (void)step_->tell(rank_, 0); }

   private:
    [[nodiscard]] unsigned sum(bool value, unsigned lanes) const {
        auto const told = step_->tell(rank_, value ? 1 : 0);
        unsigned sum = 0;
        for (unsigned i = 0; i < lanes; ++i) sum += told[i] != 0 ? 1 : 0;
        return sum;
    }

    LockStep* step_;
    unsigned rank_;
};

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
