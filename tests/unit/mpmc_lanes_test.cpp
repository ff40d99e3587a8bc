// SPDX-License-Identifier: Apache-2.0
// The ends of a warp, with a few threads in lock step for its lanes.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <thread>

#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
namespace {

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

// Lanes that outnumber the lines of a stripe, that divide them and that do not.
TEST(MpmcLanesTest, lanesShareTheLinesOfAStripeOut) {
    constexpr std::uint64_t count = 24;
    for (unsigned const lanes : {2U, 3U}) {
        for (std::uint32_t const stripe : {2U, 8U}) {
            MpmcRingSlots ring(16, stripe);
            std::mutex mutex;
            std::vector<Sequence> taken;
            std::atomic<bool> wrong{false};
            run_lanes(lanes, [&](ThreadLanes const& lane) {
                auto producer = mpmc_producer<Whole>(ring);
                MpmcConsumer<Whole, DeviceNear, DeviceFar, ThreadLanes> consumer(
                    ring.view(), DeviceNear(), DeviceFar(), lane);
                std::uint64_t pushed = 0;
                for (std::uint64_t got = 0; got != count;) {
                    if (lane.thread_rank() == 0) {
                        while (pushed != count && producer.try_push(Whole::make(pushed + 1))) {
                            ++pushed;
                        }
                    }
                    std::uint64_t mine = 0;
                    bool const any = consumer.poll([&](Whole const& message, Sequence number) {
                        std::lock_guard const lock(mutex);
                        if (message != Whole::make(number)) wrong = true;
                        if ((number - 1) % stripe % lanes != lane.thread_rank()) wrong = true;
                        taken.push_back(number);
                        ++mine;
                    });
                    if (mine != 0 && !any) wrong = true;
                    std::uint64_t size = 0;
                    {
                        std::lock_guard const lock(mutex);
                        size = taken.size();
                    }
                    got = lane.broadcast(size);
                }
            });
            EXPECT_FALSE(wrong);
            EXPECT_EQ(taken.size(), count);
            EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), count);
            for (std::uint64_t const credit : ring.credits()) EXPECT_GT(credit, count - 16);
        }
    }
}

TEST(MpmcLanesTest, lanesPushTogetherOrNotAtAll) {
    MpmcRingSlots ring(8, 2);
    std::atomic<unsigned> done{0};
    run_lanes(3, [&](ThreadLanes const& lane) {
        LanesProducer<Whole, DeviceFar, DeviceNear, ThreadLanes> producer(ring.view(), DeviceFar(),
                                                                          DeviceNear(), lane);
        Whole const message = Whole::make(lane.thread_rank());
        done += producer.try_push(message) ? 1 : 0;                           // 0, 1, 2
        done += producer.try_push(message, lane.thread_rank() != 1) ? 1 : 0;  // 0, 2
        done += producer.try_push(message, false) ? 1 : 0;
        done += producer.try_push(message) ? 1 : 0;  // fills the ring
        done += producer.try_push(message, lane.thread_rank() == 2) ? 100 : 0;
    });
    EXPECT_EQ(done, 12U);
    MpmcTestConsumer<Whole> consumer(ring.view());
    TakenMessages<Whole> taken;
    ASSERT_TRUE(taken.poll(consumer, 8));
    std::vector<Whole> expected;
    for (std::uint64_t const lane : {0, 1, 2, 0, 2, 0, 1, 2}) expected.push_back(Whole::make(lane));
    EXPECT_EQ(taken.messages, expected);
}

}  // namespace
}  // namespace carillon::test
