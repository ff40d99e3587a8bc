// SPDX-License-Identifier: Apache-2.0
// Consumers of an MPMC ring that end while the ring goes on: on the host, and on a device.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

// Sends the next numbers, as many as it is asked for, and says how many had room.
struct SendsNumbers {
    MpmcRing<std::uint64_t, Direction::to_host>::DeviceEnd out;
    std::uint64_t next = 0;

    CARILLON_HD std::uint64_t operator()(std::uint64_t const& count) {
        std::uint64_t const before = next;
        while (next != before + count && out.try_push(next)) ++next;
        return next - before;
    }
};

// A warp that takes messages until it has seen one of `most` or more, leaves the rest of its stripe
// to the next kernel, and ends. Host memory has a count for each message.
struct TakesUpTo {
    MpmcRing<std::uint64_t, Direction::to_device>::DeviceEnd in;
    std::uint32_t* counts;
    std::uint64_t most;

    CARILLON_HD void operator()(unsigned /*block*/) {
        WarpLanes const lanes;
        BodyPatience waiting;
        bool seen = false;
        while (!lanes.any(seen) && lanes.all(waiting.more())) {
            in.poll([&](std::uint64_t const& message, Sequence /*number*/) {
                ++counts[message];
                seen = message >= most;
            });
        }
        in.hand_on();
    }
};

namespace {

using ToHost = MpmcRing<std::uint64_t, Direction::to_host>;

class MpmcConsumersTest : public testing::Test {
   protected:
    void send(std::uint64_t count) {
        ASSERT_EQ(kernel_.channel().call(count, patience), count) << "the ring is full";
        sent_ += count;
    }
    // Takes all that is there, and looks for more.
    void take(ToHost::HostConsumer& consumer) {
        for (int i = 0; i < 5; ++i) {
            while (consumer.poll(
                [&](std::uint64_t message, Sequence) { taken_.push_back(message); })) {
            }
        }
    }
    void expect_all_taken_once() {
        std::set<std::uint64_t> const different(taken_.begin(), taken_.end());
        EXPECT_EQ(different.size(), sent_);
        EXPECT_EQ(taken_.size(), sent_);
    }

    Device device_ = Device::open("emulated");
    ToHost ring_{device_, {.capacity = 64, .stripe = 8}};
    PersistentKernel<SendsNumbers> kernel_{device_, {}, SendsNumbers{ring_.device_handle()}};
    std::vector<std::uint64_t> taken_;
    std::uint64_t sent_ = 0;
};

TEST_F(MpmcConsumersTest, nextOneGoesOnWithTheStripeOfOneThatEnded) {
    for (std::uint64_t i = 0; i < 100; ++i) {
        send(1 + i % 7);
        std::thread([&] {
            auto consumer = ring_.consumer();
            take(consumer);
        }).join();
    }
    expect_all_taken_once();
}

TEST_F(MpmcConsumersTest, nextOneGoesOnWithTheStripeOfAThreadThatEndedWithoutLettingGo) {
    std::vector<std::unique_ptr<ToHost::HostConsumer>> leaked;
    for (std::uint64_t i = 0; i < 30; ++i) {
        send(1 + i % 7);
        std::thread([&] {
            leaked.push_back(std::make_unique<ToHost::HostConsumer>(ring_.consumer()));
            take(*leaked.back());
        }).join();
        (void)ring_.recover();
    }
    expect_all_taken_once();
    EXPECT_THROW((void)leaked[0]->poll([](std::uint64_t, Sequence) {}), UsageError);
    leaked.clear();  // whose stripes are others'
    send(20);
    auto consumer = ring_.consumer();
    take(consumer);
    expect_all_taken_once();
}

// No thread makes a new end or calls recover().
TEST_F(MpmcConsumersTest, oneThatWaitsFindsTheStripeOfAThreadThatEnded) {
    auto consumer = ring_.consumer();
    std::unique_ptr<ToHost::HostConsumer> leaked;
    std::thread([&] {
        leaked = std::make_unique<ToHost::HostConsumer>(ring_.consumer());
        take(*leaked);  // it holds the first stripe
    }).join();
    for (int i = 0; i < 10; ++i) {
        std::uint64_t const sent = kernel_.channel().call(20, patience);
        sent_ += sent;
        EXPECT_TRUE(eventually([&] {
            take(consumer);
            return taken_.size() == sent_;
        }));
    }
    expect_all_taken_once();
    EXPECT_GT(sent_, 128U);
    EXPECT_EQ(*ring_.device_view().left_count(), 0U) << "a stripe stays behind";
}

TEST_F(MpmcConsumersTest, messagesBeforeOneWhoseUseThrewAreNotTakenAgain) {
    send(3);
    {
        auto consumer = ring_.consumer();
        auto const use = [&](std::uint64_t message, Sequence) {
            taken_.push_back(message);
            if (message == 1) throw message;
        };
        EXPECT_THROW((void)(consumer.poll(use) && consumer.poll(use)), std::uint64_t);
    }
    auto next = ring_.consumer();
    take(next);
    expect_all_taken_once();
}

// Its stripe is taken to the last message, and its credit is not returned yet.
TEST_F(MpmcConsumersTest, stripeWhoseLastUseThrewBeforeTheThreadEndedIsLeftToo) {
    send(8);
    std::unique_ptr<ToHost::HostConsumer> leaked;
    std::thread([&] {
        leaked = std::make_unique<ToHost::HostConsumer>(ring_.consumer());
        auto const use = [&](std::uint64_t message, Sequence) {
            taken_.push_back(message);
            if (message == 7) throw message;
        };
        EXPECT_THROW((void)(leaked->poll(use) && leaked->poll(use) && leaked->poll(use)),
                     std::uint64_t);
    }).join();
    EXPECT_EQ(ring_.recover(), 1U);
    auto consumer = ring_.consumer();
    for (int i = 0; i < 20; ++i) {
        send(8);
        take(consumer);
    }
    expect_all_taken_once();
}

// Another thread uses the end: this one is in a poll when the end's maker is gone.
TEST_F(MpmcConsumersTest, stripeThatIsBeingTakenIsNotLeftToOthers) {
    std::optional<ToHost::HostConsumer> handed;
    std::atomic<bool> made = false;
    std::atomic<bool> polls = false;
    std::thread maker([&] {
        handed.emplace(ring_.consumer());
        made = true;
        EXPECT_TRUE(eventually([&] { return polls.load(); }));
    });
    EXPECT_TRUE(eventually([&] { return made.load(); }));
    send(6);
    auto other = ring_.consumer();
    (void)handed->poll([&](std::uint64_t message, Sequence) {
        if (maker.joinable()) {
            polls = true;
            maker.join();
            EXPECT_EQ(ring_.recover(), 0U);
            take(other);  // nothing of that stripe
        }
        taken_.push_back(message);
    });
    EXPECT_FALSE(taken_.empty());
    CARILLON_EXPECT_ERROR(handed->poll([](std::uint64_t, Sequence) {}), UsageError,
                          "the thread that made this consumer has ended");
    EXPECT_EQ(ring_.recover(), 1U);
    handed.reset();  // whose stripe is another's
    for (int i = 0; i < 10; ++i) {
        sent_ += kernel_.channel().call(20, patience);
        EXPECT_TRUE(eventually([&] {
            take(other);
            return taken_.size() == sent_;
        }));
    }
    expect_all_taken_once();
}

TEST_F(MpmcConsumersTest, areMovedAndAsManyAsThereAreStripes) {
    static_assert(!std::is_copy_constructible_v<ToHost::HostConsumer>);
    static_assert(std::is_nothrow_move_constructible_v<ToHost::HostConsumer>);
    std::vector<ToHost::HostConsumer> all;
    for (int i = 0; i < 8; ++i) all.push_back(ring_.consumer());
    CARILLON_EXPECT_ERROR((void)ring_.consumer(), UsageError, "all 8 consumers of the ring");
    auto const moved_to = std::move(all.back());
    CARILLON_EXPECT_ERROR((void)all.back().poll([](std::uint64_t, Sequence) {}), UsageError,
                          "MpmcRing::poll: the object was moved from");
    CARILLON_EXPECT_ERROR((void)all.back().skipped(), UsageError, "MpmcRing::skipped");
    EXPECT_EQ(moved_to.skipped(), 0U);
    all.clear();
    EXPECT_NO_THROW((void)ring_.consumer());
    CARILLON_EXPECT_ERROR(ToHost(device_, {.consumers = 0}), UsageError, "consumers is 0");
}

class MpmcWarpsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(MpmcWarpsTest);

TEST_P(MpmcWarpsTest, nextKernelGoesOnWithTheStripesOfOneThatEnded) {
    constexpr std::uint64_t kernels = 6;
    constexpr std::uint64_t each = 11;
    MpmcRing<std::uint64_t, Direction::to_device> ring(device(), {.capacity = 64, .stripe = 32});
    Memory const counts = device().allocate_host(kernels * each * sizeof(std::uint32_t));
    auto* const count = static_cast<std::uint32_t*>(counts.host_ptr());
    std::fill_n(count, kernels * each, 0U);
    auto producer = ring.producer();
    for (std::uint64_t k = 0; k < kernels; ++k) {
        for (std::uint64_t i = 0; i < each; ++i) producer.push(k * each + i, patience);
        auto const kernel =
            launch(device(), LaunchShape{1, lanes_per_warp},
                   TakesUpTo{ring.device_handle(), static_cast<std::uint32_t*>(counts.device_ptr()),
                             (k + 1) * each - 1});
        ASSERT_TRUE(kernel.wait(patience));
    }
    for (std::uint64_t i = 0; i < kernels * each; ++i) EXPECT_EQ(count[i], 1U) << i;
}

}  // namespace
}  // namespace carillon::test
