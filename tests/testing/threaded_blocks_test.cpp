// SPDX-License-Identifier: Apache-2.0
// Kernels of the emulated device that run all threads of their blocks, and the library's calls from
// those threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/testing.hpp"
#include "support/expect_error.hpp"
#include "testing/threaded_handlers.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;
using carillon::testing::BarrierError;
using carillon::testing::BlockOptions;
using carillon::testing::run_body;
using carillon::testing::ThreadedBlocks;

class ThreadedBlocksTest : public ::testing::TestWithParam<std::uint64_t> {
   protected:
    Device device_ = Device::open("emulated");
    ThreadedBlocks threaded_{GetParam()};
};

// The reply shows which threads run, and in which order the seed has them.
struct WhoRuns {
    static constexpr unsigned threads = 64;
    CARILLON_HD unsigned operator()(unsigned request) const {
        auto& shared = block::shared<unsigned, WhoRuns>();
        if (block::thread_rank() == 63) shared = request + block::size();
        block::sync();
        return shared;
    }
};

TEST_P(ThreadedBlocksTest, handlersThreadsServeAChannel) {
    PersistentKernel<WhoRuns> kernel(device_);
    for (unsigned i = 0; i != 20; ++i) EXPECT_EQ(kernel.channel().call(i, 10s), i + 64);
}

TEST_P(ThreadedBlocksTest, handlersThreadsServeAPool) {
    PersistentKernel<WhoRuns, Pool> pool(device_, {.blocks = 2, .pool = {.clients = 2}});
    auto client = pool.client();
    for (unsigned i = 0; i != 20; ++i) EXPECT_EQ(client.call(i, 10s), i + 64);
}

struct Doubles {
    CARILLON_HD unsigned operator()(unsigned request) const { return 2 * request; }
};

TEST_P(ThreadedBlocksTest, lanesShareAPoolOut) {
    PersistentKernel<Doubles, Pool> pool(device_,
                                         {.blocks = 1, .pool = {.clients = 1, .stripe = 32}});
    auto client = pool.client();
    for (unsigned i = 0; i != 10; ++i) EXPECT_EQ(client.call(i, 10s), 2 * i);
}

TEST_P(ThreadedBlocksTest, lanesWatchChannels) {
    PersistentKernel<Doubles, WatchedChannels> kernel(device_, {.watched = {.per_block = 8}});
    for (unsigned i = 0; i != 40; ++i) EXPECT_EQ(kernel.channel(i % 8).call(i, 10s), 2 * i);
}

struct Long {
    std::array<unsigned, 200> words;
};
struct Increments {
    CARILLON_HD Long operator()(Long const& request) const {
        Long reply = request;
        for (unsigned& each : reply.words) ++each;
        return reply;
    }
};

TEST_P(ThreadedBlocksTest, lanesShareALongMessageOut) {
    PersistentKernel<Increments> kernel(device_);
    Long request{};
    for (unsigned i = 0; i != 200; ++i) request.words[i] = 3 * i;
    Long const reply = kernel.channel().call(request, 10s);
    for (unsigned i = 0; i != 200; ++i) EXPECT_EQ(reply.words[i], 3 * i + 1);
}

TEST_P(ThreadedBlocksTest, deviceMemoryIsCopied) {
    if (CARILLON_THREAD_SANITIZER != 0) GTEST_SKIP() << "slow: its blocks have hundreds of threads";
    Memory const memory = device_.allocate(10'000);
    std::vector<std::byte> written(10'000);
    for (std::size_t i = 0; i != written.size(); ++i) written[i] = std::byte(i * 7);
    DeviceWriter writer(device_);
    writer.write(memory, 0, written, 100s);
    DeviceReader reader(device_);
    auto const read = reader.read(memory, 0, written.size(), 100s);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), written.begin(), written.end()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ThreadedBlocksTest, ::testing::Values(0, 1, 12345));

// A kernel whose handler forgets a barrier ends, and its callers get an error that says so.
struct Forgets {
    static constexpr unsigned threads = 32;
    CARILLON_HD int operator()(int request) const {
        if (block::thread_rank() != 4) block::sync();
        return request;
    }
};

TEST(ThreadedBlocksErrorTest, forgottenBarrierIsToldToTheCaller) {
    Device const device = Device::open("emulated");
    ThreadedBlocks const threaded(3);
    PersistentKernel<Forgets> kernel(device);
    CARILLON_EXPECT_ERROR(kernel.channel().call(1, 10s), BarrierError,
                          "testing::ThreadedBlocks: with seed 3 the threads of the block do not "
                          "meet: thread");
}

// A second one would switch the first one off when it ends.
TEST(ThreadedBlocksErrorTest, secondOneIsRefused) {
    Device const device = Device::open("emulated");
    ThreadedBlocks const threaded(3);
    CARILLON_EXPECT_ERROR(ThreadedBlocks(4), UsageError, "another one exists");
    PersistentKernel<Forgets> kernel(device);
    EXPECT_THROW((void)kernel.channel().call(1, 10s), BarrierError);
}

TEST(ThreadedBlocksErrorTest, stackOfNothingIsRefused) {
    CARILLON_EXPECT_ERROR(ThreadedBlocks(3, 0), UsageError, "stacks of 0 bytes");
    ThreadedBlocks const none_was_there(3);
}

TEST(ThreadedBlocksErrorTest, kernelThatStartsBehindItIsOfOneThreadABlock) {
    Device const device = Device::open("emulated");
    { ThreadedBlocks const threaded(3); }
    PersistentKernel<Forgets> kernel(device);
    EXPECT_EQ(kernel.channel().call(1, 10s), 1);
}

// A thread that looks in vain gives another its turn.
TEST(CallsOfTheLibraryTest, threadsThatWaitForEachOtherComeOn) {
    std::uint64_t word = 0;
    auto const body = [&](unsigned) {
        std::uint64_t const rank = block::thread_rank();
        while (DeviceNear().load_word(&word) != rank) continue;
        DeviceFar().store_word(&word, rank + 1);
    };
    run_body(body, {.threads = 4, .seeds = 20}, [&](std::uint64_t /*seed*/) {
        EXPECT_EQ(word, 4U);
        word = 0;
    });
}

// Takes numbers until there are no more, or until one is negative.
struct Takes {
    Ring<int, Direction::to_device>::DeviceEnd numbers;
    int* sum;
    bool all_leave;

    void operator()(unsigned /*block*/) {
        struct Turn {
            int number;
            bool over;
        };
        auto& turn = block::shared<Turn, Turn>();
        for (;;) {
            bool const leads = block::thread_rank() == 0;
            if (leads) turn.over = !numbers.try_pop(turn.number) || turn.number < 0;
            if (leads && turn.over && !all_leave) break;
            block::sync();
            if (turn.over) break;
            if (leads) *sum += turn.number;
            block::sync();
        }
    }
};

TEST(CallsOfTheLibraryTest, pollingLoopThatSomeThreadsLeaveIsAnError) {
    Device const device = Device::open("emulated");
    int sum = 0;
    for (std::uint64_t seed = 0; seed != 4; ++seed) {
        for (bool const all_leave : {true, false}) {
            Ring<int, Direction::to_device> ring(device);
            for (int const number : {1, 2, -1}) ring.push(number, 10s);
            Takes const body{ring.device_handle(), &sum, all_leave};
            BlockOptions const options{.threads = 32, .first_seed = seed, .seeds = 1};
            if (all_leave) {
                run_body(body, options);
            } else {
                CARILLON_EXPECT_ERROR(run_body(body, options), BarrierError,
                                      "thread 0 has returned after 4 barriers; threads 1 to 31 "
                                      "wait at block::sync");
            }
        }
    }
    EXPECT_EQ(sum, 4 * 2 * 3);
}

}  // namespace
}  // namespace carillon::test
