// SPDX-License-Identifier: Apache-2.0
// The host's knowledge of a kernel: its state, each block's activity, and why it has ended; and
// drain().
#include <stdexcept>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "device/refuses_seven.hpp"

namespace carillon::test {
using namespace detail;

namespace {

using Kernel = PersistentKernel<GatedHandler>;

class KernelStateTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (!IsSkipped()) gate_.emplace(device());
    }

    template <class Requests = Channels>
    [[nodiscard]] PersistentKernel<GatedHandler, Requests> make(KernelOptions const& options) {
        return PersistentKernel<GatedHandler, Requests>(device(), options,
                                                        GatedHandler{gate_->device_view()});
    }
    Gate& gate() { return *gate_; }

   private:
    std::optional<Gate> gate_;
};
CARILLON_ON_EVERY_DEVICE(KernelStateTest);

TEST_P(KernelStateTest, kernelRunsUntilItIsStopped) {
    Kernel kernel = make({});
    EXPECT_EQ(kernel.state(), KernelState::running);
    EXPECT_TRUE(eventually([&] { return kernel.activity() == BlockActivity::idle; }));
    kernel.stop(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
    EXPECT_EQ(kernel.activity(), BlockActivity::ended);
}

TEST_P(KernelStateTest, blockThatHasARequestIsBusyThenStuckThenIdle) {
    Kernel kernel = make({.blocks = 2, .stuck_after = 200ms});
    Ticket const ticket = kernel.channel(0).submit({1, 1}, patience);
    EXPECT_NE(kernel.activity(0), BlockActivity::idle);
    EXPECT_TRUE(eventually([&] { return kernel.activity(0) == BlockActivity::stuck; }));
    EXPECT_TRUE(eventually([&] { return kernel.activity(1) == BlockActivity::idle; }));
    gate().open(1);
    EXPECT_EQ(kernel.channel(0).wait(ticket, patience).value, 4U);
    EXPECT_TRUE(eventually([&] { return kernel.activity(0) == BlockActivity::idle; }));
}

TEST_P(KernelStateTest, drainAnswersWhatWasAcceptedAndRefusesMore) {
    auto const drain = [this](auto kernel) {
        std::vector<Ticket> tickets;
        for (unsigned i = 0; i < 3 * kernel.channels(); ++i) {
            tickets.push_back(kernel.channel(i / 3).submit({i, 1}, patience));
        }
        EXPECT_THROW(kernel.drain(1ms), TimeoutError);
        EXPECT_EQ(kernel.state(), KernelState::draining);
        CARILLON_EXPECT_ERROR(kernel.channel(0).try_submit({1, 0}), StoppedError, "draining");
        CARILLON_EXPECT_ERROR(kernel.channel(0).call({1, 0}, patience), StoppedError, "draining");
        gate().open(1);
        kernel.drain(patience);
        EXPECT_EQ(kernel.state(), KernelState::stopped);
        for (unsigned i = 0; i < tickets.size(); ++i) {
            ASSERT_EQ(kernel.channel(i / 3).wait(tickets[i], 0ns).value, 3 * i + 1) << i;
        }
    };
    drain(make({.blocks = 2, .capacity = 8}));
    gate().open(0);
    drain(make<WatchedChannels>({.blocks = 2, .capacity = 8, .watched = {.per_block = 3}}));
}

TEST_P(KernelStateTest, replyThatComesWhileDrainingReachesItsWaiter) {
    Kernel kernel = make({});
    Ticket const ticket = kernel.channel().submit({5, 1}, patience);
    EXPECT_THROW(kernel.drain(1ms), TimeoutError);
    gate().open(1);
    EXPECT_EQ(kernel.channel().wait(ticket, patience).value, 16U);
    kernel.drain(patience);
}

TEST_P(KernelStateTest, drainOfAnIdleKernelStopsIt) {
    Kernel kernel = make({.blocks = 3});
    EXPECT_EQ(kernel.channel(2).call({1, 0}, patience).value, 4U);
    kernel.drain(patience);
    EXPECT_FALSE(kernel.running());
    CARILLON_EXPECT_ERROR(kernel.drain(patience), StoppedError,
                          "PersistentKernel::drain: the kernel was drained");
}

// The kernel takes a while to end when all is answered.
TEST_P(KernelStateTest, drainsInAsManyCallsAsThatTakes) {
    Kernel kernel = make({.blocks = 3});
    EXPECT_EQ(kernel.channel(2).call({1, 0}, patience).value, 4U);
    EXPECT_TRUE(eventually([&] {
        try {
            kernel.drain(0ns);
            return true;
        } catch (TimeoutError const&) {
            return false;
        }
    }));
    EXPECT_FALSE(kernel.running());
    CARILLON_EXPECT_ERROR(kernel.drain(patience), StoppedError, "was drained");
}

TEST_P(KernelStateTest, lifetimeIsNamedAsTheReason) {
    Kernel kernel = make({.lifetime = 20ms});
    ASSERT_TRUE(eventually([&] { return kernel.state() == KernelState::stopped; }));
    CARILLON_EXPECT_ERROR(kernel.channel().call({1, 0}, patience), StoppedError,
                          "the kernel has ended: its lifetime is over");
}

// A host without a heartbeat: only the test writes the block's control line.
TEST_P(KernelStateTest, blockEndsByItselfWhenItsHostIsSilent) {
    ChannelMemory memory(device(), 1, 4);
    using Body = detail::ServeBody<RefusesSeven, int, int>;
    bool const oversubscribed = device().oversubscribed(1);
    auto const kernel = launch(
        device(), 1, Body{{memory.device_view(), {0, 20'000'000}, oversubscribed, false}, {}});
    ASSERT_TRUE(kernel.wait(patience));
    StatusLine const* const status = memory.host_view().channel(0).status;
    EXPECT_EQ(HostCached().load_word(&status->ended),
              static_cast<std::uint64_t>(EndReason::host_silent));
}

TEST_P(KernelStateTest, hostAndBlocksBeat) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 2, 4);
    Kernel kernel(device(), {.blocks = 2, .host_limit = 20s, .memory = memory}, GatedHandler{});
    for (unsigned block = 0; block < 2; ++block) {
        ChannelView const view = memory->host_view().channel(block);
        for (std::uint64_t const* word : {&view.control->host_beat, &view.status->beat}) {
            std::uint64_t const before = HostCached().load_word(word);
            EXPECT_TRUE(eventually([&] { return HostCached().load_word(word) != before; }));
        }
    }
    EXPECT_EQ(kernel.channel().call({1, 0}, patience).value, 4U);
}

TEST_P(KernelStateTest, blocksThatSleepAnswerAndEnd) {
    auto const call_and_stop = [](auto kernel) {
        for (std::uint64_t i = 0; i < 5; ++i) {
            std::this_thread::sleep_for(5ms);
            for (unsigned c = 0; c < kernel.channels(); ++c) {
                EXPECT_EQ(kernel.channel(c).call({i, 0}, patience).value, 3 * i + 1);
            }
        }
        EXPECT_TRUE(eventually([&] { return kernel.activity() == BlockActivity::idle; }));
        kernel.stop(patience);
    };
    for (IdlePolicy const idle :
         {IdlePolicy::backoff(), IdlePolicy::park(), IdlePolicy{0, 500'000}}) {
        call_and_stop(make({.blocks = 2, .idle = idle}));
        call_and_stop(
            make<WatchedChannels>({.blocks = 2, .idle = idle, .watched = {.per_block = 3}}));
    }
    CARILLON_EXPECT_ERROR(make({.idle = {0, 1'000'001}}), UsageError, "a GPU sleeps for");
}

TEST_P(KernelStateTest, hostLimitThatCannotBeKeptIsAUsageError) {
    CARILLON_EXPECT_ERROR(make({.host_limit = 9ms}), UsageError, "use 10 ms or more, or 0");
    CARILLON_EXPECT_ERROR(make({.host_limit = -1s}), UsageError, "use 10 ms or more, or 0");
}

// Catches an error that only a wait would find.
TEST_P(KernelStateTest, failureIsSeenWithoutAWait) {
    if (on_gpu()) GTEST_SKIP() << "device code cannot throw; tests/faults has what it can do";
    PersistentKernel<RefusesSeven> kernel(device());
    (void)kernel.channel().submit(7, patience);
    EXPECT_TRUE(eventually([&] { return kernel.state() == KernelState::failed; }));
    EXPECT_TRUE(eventually([&] {
        try {
            (void)kernel.channel().try_submit(1);
        } catch (std::domain_error const&) {
            return true;
        }
        return false;
    }));
    CARILLON_EXPECT_ERROR(kernel.drain(patience), std::domain_error, "seven");
    EXPECT_EQ(kernel.activity(), BlockActivity::ended);
}

}  // namespace
}  // namespace carillon::test
