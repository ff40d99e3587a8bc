// SPDX-License-Identifier: Apache-2.0
// A ring that many share, between threads of the CPU and warps of a kernel.
#include <algorithm>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "carillon/mpmc_ring.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;

using MpmcToDevice = MpmcRing<Message, Direction::to_device>;
using MpmcToHost = MpmcRing<Message, Direction::to_host>;

// Each warp counts in words of host memory, lane for lane, how often it takes each message, until
// the host ends it.
struct TakeMpmcBody {
    MpmcToDevice::DeviceEnd in;
    std::uint32_t* counts;  // in host memory: of a block, for each message
    std::uint32_t messages;
    std::uint64_t const* stop;  // in device memory

    CARILLON_HD void operator()(unsigned block) {
        WarpLanes const lanes;
        std::uint32_t* const mine = counts + std::size_t{block} * (messages + 1);
        BodyPatience waiting;
        // A lane counts in words that no other lane has: those of the messages that it took.
        for (bool going_on = true; going_on;) {
            bool const stopped = DeviceNear().load_word(stop) != 0;  // and then one look more
            bool const any = in.poll([&](Message const& message, Sequence /*number*/) {
                bool const right = message.whole() && message.number < messages;
                ++mine[right ? message.number : messages];
            });
            going_on = lanes.all(any || (!stopped && waiting.more()));
        }
    }
};

// Every lane sends `count` messages, numbered through over lanes and blocks.
struct SendMpmcBody {
    MpmcToHost::DeviceEnd out;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned block) {
        WarpLanes const lanes;
        std::uint32_t const sender = block * lanes.size() + lanes.thread_rank();
        for (std::uint32_t i = 0; i < count; ++i) {
            BodyPatience waiting;
            while (!out.try_push(Message::make(std::uint64_t{sender} * count + i))) {
                if (!lanes.all(waiting.more())) return;
            }
        }
    }
};

namespace {

class DeviceMpmcRingTest : public KernelTest {
   protected:
    // `threads` threads push; blocks of a warp take. Each message exactly once.
    void expect_all_taken(unsigned threads, unsigned blocks, MpmcRingOptions const& options,
                          bool one_dies = false) {
        constexpr std::uint32_t each = 300;
        std::uint32_t const messages = threads * each;
        MpmcToDevice ring(device(), options);
        Memory const counts =
            device().allocate_host(std::size_t{blocks} * (messages + 1) * sizeof(std::uint32_t));
        Memory const stop = device().allocate(sizeof(Line));
        auto const kernel = launch(
            device(), LaunchShape{blocks, lanes_per_warp},
            TakeMpmcBody{ring.device_handle(), static_cast<std::uint32_t*>(counts.device_ptr()),
                         messages, static_cast<std::uint64_t const*>(stop.device_ptr())});
        std::unique_ptr<HostMpmcProducer<Message>> leaked;
        if (one_dies) {
            std::thread([&] {
                leaked = std::make_unique<HostMpmcProducer<Message>>(ring.producer());
            }).join();
        }
        std::vector<std::thread> pushing;
        for (unsigned t = 0; t < threads; ++t) {
            pushing.emplace_back([&, t] { push_all(ring, t * each, each); });
        }
        for (std::thread& thread : pushing) thread.join();
        if (one_dies) {
            EXPECT_LE(ring.recover(), 1U);  // a push that waited may have found it
        }
        FlagWriter<std::uint64_t, HostMapped>(static_cast<std::uint64_t*>(stop.host_ptr()),
                                              device().access(stop))
            .set(1, OutOfLine::written);
        ASSERT_TRUE(kernel.wait(patience));
        auto const* const seen = static_cast<std::uint32_t const*>(counts.host_ptr());
        for (std::uint32_t m = 0; m <= messages; ++m) {
            std::uint32_t sum = 0;
            for (unsigned b = 0; b < blocks; ++b) sum += seen[std::size_t{b} * (messages + 1) + m];
            ASSERT_EQ(sum, m == messages ? 0U : 1U) << "message " << m << " of " << messages;
        }
    }

   private:
    // Batches of 1 to 40, and messages by themselves.
    static void push_all(MpmcToDevice& ring, std::uint32_t first, std::uint32_t count) {
        auto producer = ring.producer();
        std::vector<Message> messages;
        for (std::uint32_t i = 0; i < count; ++i) messages.push_back(Message::make(first + i));
        for (std::uint32_t done = 0; done < count;) {
            if (done % 3 == 0) {
                producer.push(messages[done++], patience);
                continue;
            }
            std::size_t const size = std::min<std::size_t>(count - done, 1 + done % 40);
            done += static_cast<std::uint32_t>(
                producer.try_push_n(std::span(messages).subspan(done, size)));
            std::this_thread::yield();
        }
    }
};
CARILLON_ON_EVERY_DEVICE(DeviceMpmcRingTest);

TEST_P(DeviceMpmcRingTest, oneWarpTakesWhatThreeThreadsPush) {
    expect_all_taken(3, 1, {.capacity = 128, .stripe = 32});
}

TEST_P(DeviceMpmcRingTest, fourWarpsTakeEveryMessageOnceAndAcrossTheTagsWrap) {
    expect_all_taken(
        3, 4, {.capacity = 256, .stripe = 4, .for_tests = {.first = (Sequence{1} << 32) - 63}});
}

TEST_P(DeviceMpmcRingTest, stripesOfOneSlotAndOfHalfTheRingWork) {
    expect_all_taken(2, 2, {.capacity = 16, .stripe = 1});
    expect_all_taken(2, 2, {.capacity = 16, .stripe = 8});
}

TEST_P(DeviceMpmcRingTest, othersGoOnWhenAThreadEndsWithoutLettingGo) {
    expect_all_taken(2, 2, {.capacity = 64, .stripe = 8, .producers = 3}, true);
}

TEST_P(DeviceMpmcRingTest, hostTakesEveryMessageOfTwoWarpsOnceInTheOrderOfEachLane) {
    constexpr std::uint32_t count = 50;
    constexpr unsigned blocks = 2;
    MpmcToHost ring(device(), {.capacity = 128, .stripe = 8});
    auto const kernel = launch(device(), LaunchShape{blocks, lanes_per_warp},
                               SendMpmcBody{ring.device_handle(), count});
    unsigned const senders =
        blocks * (device().traits().one_thread_a_block ? WarpLanes::size() : lanes_per_warp);
    std::vector<std::uint32_t> next(senders);
    auto consumer = ring.consumer();
    std::uint32_t taken = 0;
    ASSERT_TRUE(eventually([&] {
        consumer.poll([&](Message const& message, Sequence /*number*/) {
            EXPECT_TRUE(message.whole());
            std::uint64_t const sender = message.number / count;
            ASSERT_LT(sender, senders);
            EXPECT_EQ(message.number % count, next[sender]++);
            ++taken;
        });
        return taken == senders * count;
    })) << taken;
    EXPECT_TRUE(kernel.wait(patience));
}

}  // namespace
}  // namespace carillon::test
