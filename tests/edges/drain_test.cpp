// SPDX-License-Identifier: Apache-2.0
// Submits beside a drain: every ticket gets its reply, and a submit that throws StoppedError has
// sent nothing. The submitter is held between its look at the kernel and its request.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "device/device_fixture.hpp"
#include "support/held_page.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {
using namespace detail;

// Counts the requests that it serves; the count outlives the kernel.
struct CountsServed {
    static inline std::atomic<int> served = 0;

    CARILLON_HD int operator()(int const& request) const {
#if !defined(__CUDA_ARCH__)
        ++served;
#endif
        return request + 1;
    }
};

// A handler that stays in idle() after the first look that finds nothing, until it may go on.
struct StaysIdle {
    static inline std::atomic<bool> stays = true;

    CARILLON_HD int operator()(int const& request) const { return request; }
    CARILLON_HD void idle() const {
#if !defined(__CUDA_ARCH__)
        while (stays) std::this_thread::yield();
#endif
    }
};

namespace {

class DrainTest : public testing::Test {
   protected:
    void SetUp() override { CountsServed::served = 0; }

    // Submits 41, held at the read of it: behind the look at the kernel.
    template <class Client>
    static std::optional<int> ask(Client& client, HeldPage const& page) {
        std::optional<Ticket> const ticket = client.try_submit(page.as<int>());
        if (!ticket) return {};
        return client.wait(*ticket, patience);
    }
    template <class Client>
    static std::optional<int> ask_in_a_row(Client& client, HeldPage const& page) {
        Tickets tickets = client.try_submit_n(std::span(&page.as<int>(), 1));
        std::array<int, 1> reply{};
        client.take_n(tickets, reply, patience);
        return reply[0];
    }

    // A drain that begins meanwhile is not over before that request has its reply.
    template <class Ask, class Drain>
    static void expect_waits(Ask&& ask, Drain&& drain, std::chrono::nanoseconds short_time = 0ns) {
        HeldPage const page(41);
        std::optional<int> reply;
        std::jthread submitter([&] {
            try {
                reply = ask(page);
            } catch (StoppedError const& error) {
                ADD_FAILURE() << error.what();
            }
        });
        EXPECT_TRUE(eventually([&] { return page.reached(); }));
        CARILLON_EXPECT_ERROR(drain(short_time), TimeoutError, "answered after");
        page.let_go();
        drain(patience);
        submitter.join();
        EXPECT_EQ(reply, 42);
        EXPECT_EQ(CountsServed::served, 1);
    }
    template <class Kernel, class Client>
    static void expect_waits_for(Kernel& kernel, Client& client) {
        expect_waits([&](HeldPage const& page) { return ask(client, page); },
                     [&](std::chrono::nanoseconds timeout) { kernel.drain(timeout); });
    }

    Device device_ = Device::open("emulated");
};

TEST_F(DrainTest, ticketOfAChannelHasItsReply) {
    PersistentKernel<CountsServed> kernel(device_);
    expect_waits_for(kernel, kernel.channel());
}

TEST_F(DrainTest, ticketOfAnExpressChannelHasItsReply) {
    PersistentKernel<CountsServed> kernel(device_, {.channels = {.express = true}});
    expect_waits_for(kernel, kernel.express());
}

TEST_F(DrainTest, ticketOfAWatchedChannelHasItsReply) {
    PersistentKernel<CountsServed, WatchedChannels> kernel(device_, {.watched = {.per_block = 3}});
    expect_waits_for(kernel, kernel.channel(2));
}

TEST_F(DrainTest, ticketsOfARowHaveTheirReplies) {
    PersistentKernel<CountsServed> kernel(device_);
    expect_waits([&](HeldPage const& page) { return ask_in_a_row(kernel.channel(), page); },
                 [&](std::chrono::nanoseconds timeout) { kernel.drain(timeout); });
}

TEST_F(DrainTest, ticketOfAPoolHasItsReply) {
    PersistentKernel<CountsServed, Pool> kernel(device_, {.blocks = 1});
    expect_waits(
        [&](HeldPage const& page) {
            auto client = kernel.client();
            return ask(client, page);
        },
        [&](std::chrono::nanoseconds timeout) { kernel.drain(timeout); });
}

// The owner waits until each client has reported that all is answered, for a client in this process
// as for any other.
template <class Requests>
void expect_waits_for_connected(Device const& device, auto&& expect) {
    TemporaryDirectory const directory;
    auto const path = directory.path() / "socket";
    PersistentKernel<CountsServed, Requests> kernel(device, {.blocks = 1});
    Server const server = kernel.serve(path);
    Connection const connection(path);
    Channel<int, int> channel = connection.channel<int, int>();
    expect(kernel, channel);
}

TEST_F(DrainTest, ticketOfAConnectedClientHasItsReply) {
    auto const expect = [](auto& kernel, auto& channel) {
        expect_waits([&](HeldPage const& page) { return ask(channel, page); },
                     [&](std::chrono::nanoseconds timeout) { kernel.drain(timeout); }, 100ms);
    };
    expect_waits_for_connected<SharedChannels>(device_, expect);
    SetUp();
    expect_waits_for_connected<SharedPool>(device_, expect);
}

// A drain's time is for the answers, and none is missing here.
TEST_F(DrainTest, withoutTimeEndsAKernelThatHasNothingToAnswer) {
    for (IdlePolicy const idle : {IdlePolicy::spin(), IdlePolicy::park()}) {
        for (int i = 0; i < 3; ++i) {
            PersistentKernel<CountsServed> kernel(device_, {.idle = idle});
            EXPECT_EQ(kernel.channel().call(41, patience), 42);
            EXPECT_NO_THROW(kernel.drain(0ns));
            EXPECT_FALSE(kernel.running());
        }
    }
}

TEST_F(DrainTest, saysThatTheKernelItselfHasNotEnded) {
    StaysIdle::stays = true;
    PersistentKernel<StaysIdle> kernel(device_);
    CARILLON_EXPECT_ERROR(
        kernel.drain(0ns), TimeoutError,
        "PersistentKernel::drain: all requests are answered, but the kernel has not ended");
    StaysIdle::stays = false;
    kernel.drain(patience);
}

// A pool with access to its parts.
class OpenPool {
   public:
    using Body = detail::PoolBody<CountsServed, int, int>;
    using Client = carillon::Client<int, int, Pool>;

    explicit OpenPool(Device const& device)
        : state_(std::make_shared<detail::PoolState>(
              device, options_, 1, shape_of<AddressedRequest<int>>(), shape_of<int>())) {
        state_->own(detail::KernelSupervisor::make(device, state_->blocks(), options_));
        auto blocks = detail::kernel_blocks(device, options_, *state_->blocks());
        blocks.oversubscribed = true;
        state_->kernel().run(launch(device, 1,
                                    Body{blocks, state_->ring()->memory.device_view(),
                                         state_->device_reply_slots(), CountsServed{}, false}));
    }

    [[nodiscard]] detail::PoolState& state() const { return *state_; }
    [[nodiscard]] Client client() const { return Client(state_); }
    void drain() const {
        state_->kernel().drain([&] { return state_->all_answered(); }, patience);
    }

   private:
    KernelOptions options_{.blocks = 1, .pool = {.clients = 1}};
    std::shared_ptr<detail::PoolState> state_;
};

// Held at the claim of its place for the reply, ahead of the look.
TEST_F(DrainTest, submitToAPoolThatComesTooLateSendsNothing) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the sanitizer's own lock is held where the submitter is";
    }
    OpenPool const pool(device_);
    HeldPage const page(HeldPage::OfWrites{pool.state().host_reply_slots().words});
    std::string refused;
    std::jthread submitter([&] {
        auto client = pool.client();
        try {
            (void)client.try_submit(1);
        } catch (StoppedError const& error) {
            refused = error.what();
        }
    });
    EXPECT_TRUE(eventually([&] { return page.reached(); }));
    pool.drain();
    page.let_go();
    submitter.join();
    EXPECT_EQ(refused, "Client::try_submit: the kernel was drained and has stopped");
    EXPECT_EQ(CountsServed::served, 0);
}

// A drain does not wait for a request that was announced and then refused.
TEST_F(DrainTest, refusedSubmitsAreNotWaitedFor) {
    PersistentKernel<CountsServed> kernel(device_, {.capacity = 2});
    auto& channel = kernel.channel();
    Ticket const first = channel.submit(1, patience);
    Ticket const second = channel.submit(2, patience);
    EXPECT_FALSE(channel.try_submit(3)) << "two replies are outstanding";
    kernel.drain(patience);
    EXPECT_THROW((void)channel.try_submit(4), StoppedError);
    EXPECT_TRUE(channel.all_answered());
    EXPECT_EQ(channel.wait(first, 0ns) + channel.wait(second, 0ns), 5);
}

}  // namespace
}  // namespace carillon::test
