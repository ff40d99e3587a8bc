// SPDX-License-Identifier: Apache-2.0
// A handler's idle() runs while no request comes, in every loop that waits.
#include <atomic>

#include "carillon/block.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

struct IdleAsk {
    std::uint32_t word[4];
};
struct LongIdleAsk {
    std::uint32_t word[200];
};

// Counts the calls of its idle() in host memory.
template <class Message, unsigned thread_count>
struct IdleCounter {
    static constexpr unsigned threads = thread_count;
    std::uint64_t* idles;
    std::uint64_t count = 0;

    CARILLON_HD Message operator()(Message const& message) const { return message; }
    CARILLON_HD void idle() {
        if constexpr (thread_count > 1) block::sync();  // all threads are here
        if (block::thread_rank() == 0) DeviceFar().store_word(idles, ++count);
    }
};
// A handler whose lanes serve apart: each lane has a count of its own, and the lanes do not meet.
struct IdleLane {
    std::uint64_t* idles;
    std::uint64_t count = 0;

    CARILLON_HD IdleAsk operator()(IdleAsk const& message) const { return message; }
    CARILLON_HD void idle() { DeviceFar().store_word(idles + block::thread_rank() % 32, ++count); }
};
struct IdleCommand {
    std::uint32_t word;
};
struct IdleDesk : IdleLane {
    using Commands = carillon::Commands<IdleCommand>;
    CARILLON_HD IdleCommand operator()(IdleCommand const& command) const { return command; }
};

namespace {

class IdleTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (!IsSkipped()) idles_ = device().allocate_host(32 * sizeof(std::uint64_t));
    }
    template <class Handler>
    [[nodiscard]] Handler handler() const {
        return {static_cast<std::uint64_t*>(idles_.device_ptr())};
    }
    // Some more of them, of as many lanes.
    void expect_idles(unsigned lanes = 1) const {
        std::atomic_ref<std::uint64_t> const last(
            static_cast<std::uint64_t*>(idles_.host_ptr())[lanes - 1]);
        std::uint64_t const before = last.load();
        EXPECT_TRUE(eventually([&] { return last.load() > before + 2; }));
    }
    // Before, between and after requests.
    template <class Client, class Request>
    void expect_idles_around(Client&& client, Request const& request) const {
        expect_idles();
        for (int i = 0; i < 3; ++i) (void)client.call(request, patience);
        expect_idles();
    }

   private:
    Memory idles_;
};
CARILLON_ON_EVERY_DEVICE(IdleTest);

using IdleLongCounter = IdleCounter<LongIdleAsk, 1>;
using OneThreadIdles = IdleCounter<IdleAsk, 1>;
using ManyThreadsIdle = IdleCounter<IdleAsk, 64>;

TEST_P(IdleTest, blockOfOneThreadCallsItWhileNothingComes) {
    PersistentKernel kernel(device(), KernelOptions{}, handler<OneThreadIdles>());
    expect_idles_around(kernel.channel(), IdleAsk{});
}

// Catches a loop that sleeps without it.
TEST_P(IdleTest, blockThatSleepsCallsIt) {
    PersistentKernel kernel(device(), {.idle = {1, 1'000'000}}, handler<OneThreadIdles>());
    expect_idles_around(kernel.channel(), IdleAsk{});
}

// Catches a thread that another one waits for at another barrier.
TEST_P(IdleTest, threadsOfABlockCallItTogether) {
    PersistentKernel kernel(device(), KernelOptions{}, handler<ManyThreadsIdle>());
    expect_idles_around(kernel.channel(), IdleAsk{});
}

TEST_P(IdleTest, blockWithAnExpressChannelCallsIt) {
    PersistentKernel kernel(device(), {.channels = {.express = true}}, handler<OneThreadIdles>());
    expect_idles_around(kernel.express(), IdleAsk{});
    expect_idles_around(kernel.channel(), IdleAsk{});
}

TEST_P(IdleTest, handlerOfLongMessagesCallsIt) {
    PersistentKernel kernel(device(), KernelOptions{}, handler<IdleLongCounter>());
    expect_idles_around(kernel.channel(), LongIdleAsk{});
}

TEST_P(IdleTest, handlerOfCommandsCallsIt) {
    PersistentKernel kernel(device(), KernelOptions{}, handler<IdleDesk>());
    expect_idles_around(kernel.channel(), IdleCommand{});
}

TEST_P(IdleTest, everyLaneThatWatchesCallsItsOwn) {
    PersistentKernel<IdleLane, WatchedChannels> kernel(device(), {}, handler<IdleLane>());
    expect_idles_around(kernel.channel(3), IdleAsk{});
    expect_idles(on_gpu() ? 32 : 1);
}

TEST_P(IdleTest, blocksOfAPoolCallIt) {
    PersistentKernel<OneThreadIdles, Pool> kernel(device(), {.blocks = 2},
                                                  handler<OneThreadIdles>());
    expect_idles_around(kernel.client(), IdleAsk{});
}

TEST_P(IdleTest, oneBlockOfAPoolCallsIt) {
    PersistentKernel<OneThreadIdles, Pool> kernel(device(), {.blocks = 1},
                                                  handler<OneThreadIdles>());
    expect_idles_around(kernel.client(), IdleAsk{});
}

TEST_P(IdleTest, threadsOfABlockOfAPoolCallItTogether) {
    PersistentKernel<ManyThreadsIdle, Pool> kernel(device(), {.blocks = 1},
                                                   handler<ManyThreadsIdle>());
    expect_idles_around(kernel.client(), IdleAsk{});
}

TEST_P(IdleTest, everyLaneOfAStripeCallsItsOwn) {
    PersistentKernel<IdleLane, Pool> kernel(device(), {.blocks = 1, .pool = {.stripe = 32}},
                                            handler<IdleLane>());
    expect_idles_around(kernel.client(), IdleAsk{});
    expect_idles(on_gpu() ? 32 : 1);
}

TEST_P(IdleTest, blockThatNoClientOfAnotherProcessHasCallsIt) {
    PersistentKernel<OneThreadIdles, SharedChannels> const one(device(), {},
                                                               handler<OneThreadIdles>());
    expect_idles();
}

TEST_P(IdleTest, threadsThatNoClientOfAnotherProcessHasCallItTogether) {
    PersistentKernel<ManyThreadsIdle, SharedChannels> const many(device(), {},
                                                                 handler<ManyThreadsIdle>());
    expect_idles();
}

TEST_P(IdleTest, warpForLongMessagesThatNoClientHasCallsIt) {
    PersistentKernel<IdleLongCounter, SharedChannels> const kernel(device(), {},
                                                                   handler<IdleLongCounter>());
    expect_idles();
}

TEST_P(IdleTest, blocksThatServeAllClientsOfOthersCallIt) {
    PersistentKernel<OneThreadIdles, SharedPool> const kernel(device(), {.blocks = 2},
                                                              handler<OneThreadIdles>());
    expect_idles();
}

// A host that takes no replies keeps the block from serving, and from nothing else.
TEST_P(IdleTest, blockThatWaitsForRoomForAReplyCallsIt) {
    PersistentKernel kernel(device(), {.capacity = 2}, handler<OneThreadIdles>());
    while (kernel.channel().try_submit({})) expect_idles();
    expect_idles();
}

TEST_P(IdleTest, threadsThatWaitForRoomForAReplyCallItTogether) {
    PersistentKernel kernel(device(), {.capacity = 2}, handler<ManyThreadsIdle>());
    while (kernel.channel().try_submit({})) expect_idles();
    expect_idles();
}

}  // namespace
}  // namespace carillon::test
