// SPDX-License-Identifier: Apache-2.0
// Rings and channels of messages of several lines, to and from a kernel of the user's own.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {

// Echoes its messages; a damaged message comes back as number 0.
template <class T>
struct SizedEchoBody {
    DeviceConsumer<T> in;
    DeviceProducer<T> out;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint32_t i = 0; i < count; ++i) {
            T message{};
            if (!pop_patiently(in, message)) return;
            if (!push_patiently(out, T::make(message.whole() ? message.number() : 0))) return;
        }
    }
};

// A kernel of the user's own at the other end of a channel: the reply has another size.
template <class Request, class Reply>
struct SizedServeBody {
    DeviceChannel<Request, Reply> channel;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint32_t i = 0; i < count; ++i) {
            Request message{};
            if (!pop_patiently(channel.requests, message)) return;
            auto const reply = Reply::make(message.whole() ? message.number() + 1 : 0);
            if (!push_patiently(channel.replies, reply)) return;
        }
    }
};

namespace {

class RingSizesTest : public KernelTest {
   protected:
    // There and back, alone or in batches, as many in flight as the rings allow.
    template <std::size_t size>
    void expect_echo(RingOptions const& options) {
        using T = SizedWords<size>;
        constexpr std::uint32_t count = 400;
        Ring<T, Direction::to_device> to(device(), options);
        Ring<T, Direction::to_host> from(device(), options);
        auto const kernel =
            launch(device(), 1, SizedEchoBody<T>{to.device_handle(), from.device_handle(), count});
        std::vector<T> messages;
        for (std::uint64_t i = 1; i <= count; ++i) messages.push_back(T::make(i));
        std::span<T const> left = messages;
        std::array<T, 3> taken{};
        auto const deadline = std::chrono::steady_clock::now() + patience;
        for (std::uint64_t received = 0; received < count;) {
            std::size_t const batch = std::min<std::size_t>(left.size(), received % 5);
            left = left.subspan(to.try_push_n(left.first(batch)));
            if (!left.empty() && to.try_push(left.front())) left = left.subspan(1);
            std::size_t const arrived = from.try_pop_n(taken);
            for (T const& each : std::span(taken).first(arrived)) {
                ASSERT_EQ(each.number(), ++received) << size;
                ASSERT_TRUE(each.whole()) << size;
            }
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << size;
        }
        EXPECT_TRUE(kernel.wait(patience));
        EXPECT_FALSE(from.try_pop().has_value());
    }

    template <class Request, class Reply>
    void expect_serves(std::uint32_t capacity) {
        constexpr std::uint32_t count = 200;
        auto const memory = std::make_shared<ChannelMemory>(
            device(), 1, ChannelShape::of<Request, Reply>(capacity), just_below_the_tags_wrap);
        Channel<Request, Reply> channel(device(), memory, 0U,
                                        HostWait::for_kernel(device().traits(), 1));
        auto const kernel =
            launch(device(), 1, SizedServeBody<Request, Reply>{channel.device_handle(), count});
        for (std::uint64_t i = 1; i <= count; ++i) {
            Reply const reply = channel.call(Request::make(i), patience);
            ASSERT_EQ(reply.number(), i + 1);
            ASSERT_TRUE(reply.whole());
        }
        EXPECT_TRUE(kernel.wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(RingSizesTest);
CARILLON_ON_HOST_MEMORY(RingSizesTest);

TEST_P(RingSizesTest, messagesOfSeveralLinesGoThereAndBackWholeAndInOrder) {
    expect_echo<56>({.capacity = 16});
    expect_echo<256>({.capacity = 16});
    expect_echo<768>({.capacity = 16});
    expect_echo<1000>({.capacity = 16});
    expect_echo<1024>({.capacity = 16});
}

TEST_P(RingSizesTest, smallestRingsWrapAndTagsDo) {
    for (std::uint32_t const capacity : {2U, 8U}) {
        RingOptions const options{.capacity = capacity,
                                  .for_tests = {.first = just_below_the_tags_wrap}};
        expect_echo<56>(options);
        expect_echo<256>(options);
        expect_echo<1024>(options);
    }
}

TEST_P(RingSizesTest, channelsHaveRequestsAndRepliesOfSizesOfTheirOwn) {
    expect_serves<SizedWords<56>, SizedWords<256>>(4);
    expect_serves<SizedWords<1024>, SizedWords<8>>(2);
    expect_serves<SizedWords<8>, SizedWords<1000>>(8);
    expect_serves<SizedWords<768>, SizedWords<768>>(16);
}

}  // namespace
}  // namespace carillon::test
