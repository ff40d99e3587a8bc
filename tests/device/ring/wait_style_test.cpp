// SPDX-License-Identifier: Apache-2.0
// Every way of the CPU to wait, end to end.
#include <sched.h>

#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/usable.hpp"
#include "support/wait_styles.hpp"

namespace carillon::test {

using WaitingToDevice = Ring<Message, Direction::to_device>;
using WaitingToHost = Ring<Message, Direction::to_host>;

namespace {

class WaitStyleTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(WaitStyleTest);

TEST_P(WaitStyleTest, callsAreAnsweredHoweverTheCpuWaits) {
    for (WaitStyle style : all_wait_styles) {
        if (!supported(style)) continue;  // styleThatTheCpuLacks...
        PersistentKernel<Triple> kernel(device(), {.capacity = 4, .wait = style});
        for (long i = 0; i < 50; ++i) {
            ASSERT_EQ(kernel.channel().call(i, patience), 3 * i) << to_string(style);
        }
        // The ticket that is waited for is not the next to be answered.
        Ticket const first = kernel.channel().submit(1, patience);
        Ticket const second = kernel.channel().submit(2, patience);
        EXPECT_EQ(kernel.channel().wait(second, patience), 6);
        EXPECT_EQ(kernel.channel().wait(first, patience), 3);
    }
}

TEST_P(WaitStyleTest, messagesArriveHoweverTheCpuWaits) {
    for (WaitStyle style : all_wait_styles) {
        if (!supported(style)) continue;
        RingOptions const options{.capacity = 4, .wait = style};
        WaitingToDevice to(device(), options);
        WaitingToHost from(device(), options);
        auto const kernel =
            launch(device(), 1, EchoBody{to.device_handle(), from.device_handle(), 50});
        for (std::uint64_t i = 1; i <= 50; ++i) {
            to.push(Message::make(i), patience);
            ASSERT_EQ(from.pop(patience).number, i) << to_string(style);
        }
        EXPECT_TRUE(kernel.wait(patience));
        EXPECT_THROW((void)from.pop(1ms), TimeoutError) << to_string(style);
    }
}

TEST_P(WaitStyleTest, styleThatTheCpuLacksIsRefusedBeforeTheKernelStarts) {
    if (supported(WaitStyle::umwait)) GTEST_SKIP() << "this CPU has every style";
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device(), {.wait = WaitStyle::umwait}),
                          UnsupportedError, "umwait");
    CARILLON_EXPECT_ERROR(WaitingToHost(device(), {.wait = WaitStyle::tpause}), UnsupportedError,
                          "tpause");
    expect_usable(device());
}

// Keeps the calling thread, and the threads that it starts, on one processor.
class OnOneProcessor {
   public:
    OnOneProcessor() {
        EXPECT_EQ(sched_getaffinity(0, sizeof(before_), &before_), 0);
        int first = 0;
        while (!CPU_ISSET(first, &before_)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    }
    OnOneProcessor(OnOneProcessor const&) = delete;
    OnOneProcessor& operator=(OnOneProcessor const&) = delete;
    ~OnOneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }

   private:
    cpu_set_t before_{};
};

class CrowdedTest : public testing::TestWithParam<WaitStyle> {
   protected:
    void SetUp() override {
        if (!supported(GetParam())) GTEST_SKIP() << why_not(GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(By, CrowdedTest, testing::ValuesIn(all_wait_styles), wait_style_name);

// Eight blocks and eight callers on one processor. Catches a wait that keeps the processor from the
// thread that it waits for. Only the system interrupts threads that spin, so they call less.
TEST_P(CrowdedTest, morePollersThanProcessorsGetOn) {
    constexpr unsigned blocks = 8;
    long const calls = GetParam() == WaitStyle::spin ? 2 : 40;
    OnOneProcessor const pinned;
    PersistentKernel<Triple> kernel(Device::open("emulated"),
                                    {.blocks = blocks, .capacity = 4, .wait = GetParam()});
    std::vector<long> answered(blocks);
    std::vector<std::thread> callers;
    for (unsigned block = 0; block < blocks; ++block) {
        callers.emplace_back([&, block] {
            for (long i = 0; i < calls; ++i) {
                ASSERT_EQ(kernel.channel(block).call(i, patience), 3 * i);
                ++answered[block];
            }
        });
    }
    for (std::thread& each : callers) each.join();
    EXPECT_EQ(answered, std::vector<long>(blocks, calls));
}

}  // namespace
}  // namespace carillon::test
