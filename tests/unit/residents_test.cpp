// SPDX-License-Identifier: Apache-2.0
// A device's residents: blocks that fit or do not, and memory that waits for the end of kernels.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "carillon/error.hpp"
#include "device/residents.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using detail::Residents;

// Counts itself, to show when it was freed.
class CountedAllocation final : public detail::Allocation {
   public:
    explicit CountedAllocation(int& count) : count_(count) { ++count_; }
    ~CountedAllocation() override { --count_; }
    CountedAllocation(CountedAllocation const&) = delete;
    CountedAllocation& operator=(CountedAllocation const&) = delete;
    FileDescriptor export_fd() const override { return FileDescriptor(); }

   private:
    int& count_;
};

// Does something while it is freed.
class BusyAllocation final : public detail::Allocation {
   public:
    explicit BusyAllocation(std::function<void()> act) : act_(std::move(act)) {}
    ~BusyAllocation() override { act_(); }
    BusyAllocation(BusyAllocation const&) = delete;
    BusyAllocation& operator=(BusyAllocation const&) = delete;
    FileDescriptor export_fd() const override { return FileDescriptor(); }

   private:
    std::function<void()> act_;
};

// A kernel of two blocks that ends when it is told to; the first caller that asks hears it.
class ToldExecution final : public detail::Execution {
   public:
    ToldExecution(Residents& residents, bool const& told) : residents_(residents), told_(told) {}
    bool finished() override {
        if (told_ && !ended_) {
            ended_ = true;
            residents_.kernel_ended(2);
        }
        return ended_;
    }
    bool gone() noexcept override { return finished(); }

   private:
    Residents& residents_;
    bool const& told_;
    bool ended_ = false;
};

class ResidentsTest : public testing::Test {
   protected:
    void retire() { residents_.retire(std::make_unique<CountedAllocation>(allocations_)); }

    int allocations_ = 0;
    bool told_ = false;
    Residents residents_;
};

TEST_F(ResidentsTest, memoryIsFreedAtOnceWhereNoKernelLives) {
    retire();
    EXPECT_EQ(allocations_, 0);
}

TEST_F(ResidentsTest, memoryWaitsForTheLastKernel) {
    residents_.kernel_started(2, 8);
    residents_.kernel_started(1, 8);
    retire();
    residents_.kernel_ended(2);
    retire();
    EXPECT_EQ(allocations_, 2);
    residents_.kernel_ended(1);
    retire();
    EXPECT_EQ(allocations_, 0);
}

// A thread that finds out that a kernel has ended has a deadline; the driver's free has none.
TEST_F(ResidentsTest, endOfAKernelFreesNothingByItself) {
    residents_.kernel_started(1, 8);
    retire();
    residents_.kernel_ended(1);
    (void)residents_.any();
    EXPECT_EQ(allocations_, 1);
}

// Catches a lock that is held while memory is freed: state() and stop() would wait for it.
TEST_F(ResidentsTest, othersAskWhileMemoryIsFreed) {
    residents_.retire(std::make_unique<BusyAllocation>([&] {
        auto asked = std::async(std::launch::async, [&] { return residents_.any(); });
        EXPECT_FALSE(asked.get());
    }));
    residents_.retire(std::make_unique<BusyAllocation>([&] { retire(); }));
    EXPECT_EQ(allocations_, 0) << "what is retired meanwhile is freed too";
}

// Catches memory that is left to another thread: its bytes could not be registered anew.
TEST_F(ResidentsTest, memoryIsFreedAtOnceThoughAnotherThreadFrees) {
    residents_.retire(std::make_unique<BusyAllocation>([&] {
        std::async(std::launch::async, [&] { retire(); }).get();
        EXPECT_EQ(allocations_, 0);
    }));
}

// Catches new memory that does not wait for another thread's free of memory from a kernel's time.
TEST_F(ResidentsTest, whatWaitedForAKernelHasGoneBeforeNewMemoryComesThoughAnotherThreadFreesIt) {
    using std::chrono_literals::operator""ms;
    std::future<int> left;
    residents_.kernel_started(1, 8);
    retire();
    residents_.retire(std::make_unique<BusyAllocation>([&] {  // the last one goes first
        residents_.free_retired();                            // of itself, which waits for nothing
        left = std::async(std::launch::async, [&] {
            residents_.free_retired();
            return allocations_;
        });
        EXPECT_EQ(left.wait_for(50ms), std::future_status::timeout);
    }));
    residents_.kernel_ended(1);
    residents_.free_retired();
    EXPECT_EQ(left.get(), 0);
}

TEST_F(ResidentsTest, blocksThatDoNotFitBesideOthersAreRefused) {
    residents_.kernel_started(6, 8);
    CARILLON_EXPECT_ERROR(residents_.kernel_started(3, 8), ResidencyError, "3 blocks");
    residents_.kernel_started(2, 8);
}

// Catches a kernel that no caller asks after: it would hold up every later free.
TEST_F(ResidentsTest, endOfAKernelThatWasLeftBehindIsNoticed) {
    residents_.kernel_started(2, 8);
    residents_.adopt(std::make_unique<ToldExecution>(residents_, told_));
    retire();
    retire();
    EXPECT_EQ(allocations_, 2);
    told_ = true;
    retire();
    EXPECT_EQ(allocations_, 0);
    residents_.kernel_started(8, 8);
}

TEST_F(ResidentsTest, whoeverAsksForAnyKernelLooksAtThoseThatWereLeftBehind) {
    EXPECT_FALSE(residents_.any());
    residents_.kernel_started(2, 8);
    EXPECT_TRUE(residents_.any());
    residents_.adopt(std::make_unique<ToldExecution>(residents_, told_));
    EXPECT_TRUE(residents_.any());
    told_ = true;
    EXPECT_FALSE(residents_.any());
}

// Catches a kernel that starts while memory is being freed: the free would wait for its end.
TEST_F(ResidentsTest, kernelStartsAfterAFreeThatIsUnderWay) {
    using std::chrono_literals::operator""ms;
    std::future<void> start;
    auto const start_meanwhile = [&] {
        start = std::async(std::launch::async, [&] { residents_.kernel_started(1, 8); });
        EXPECT_EQ(start.wait_for(50ms), std::future_status::timeout);
    };
    residents_.retire(std::make_unique<BusyAllocation>(start_meanwhile));
    start.get();
    EXPECT_TRUE(residents_.any());
}

// Catches threads that free all the time, and never let a kernel start.
TEST_F(ResidentsTest, memoryThatGoesWhileAKernelWaitsToStartWaitsForItsEnd) {
    std::future<void> start;
    residents_.retire(std::make_unique<BusyAllocation>([&] {
        start = std::async(std::launch::async, [&] { residents_.kernel_started(1, 8); });
        EXPECT_TRUE(eventually([&] { return residents_.any(); }));
        retire();
        EXPECT_EQ(allocations_, 1);
    }));
    start.get();
    EXPECT_EQ(allocations_, 1);
    residents_.kernel_ended(1);
    retire();
    EXPECT_EQ(allocations_, 0);
}

TEST_F(ResidentsTest, placeOfAKernelThatWasLeftBehindIsTakenUntilItsEnd) {
    residents_.kernel_started(2, 8);
    residents_.adopt(std::make_unique<ToldExecution>(residents_, told_));
    EXPECT_THROW(residents_.kernel_started(8, 8), ResidencyError);
    told_ = true;
    residents_.kernel_started(8, 8);
}

}  // namespace
}  // namespace carillon::test
