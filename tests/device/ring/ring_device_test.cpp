// SPDX-License-Identifier: Apache-2.0
// A ring between the CPU and a kernel of the user's own.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;

using ToDevice = Ring<Message, Direction::to_device>;
using ToHost = Ring<Message, Direction::to_host>;

// Fills the ring, says how many messages it took, and sends the rest as there is room.
struct FillBody {
    ToHost::DeviceEnd out;
    std::uint64_t* accepted;  // in host memory
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t sent = 0;
        while (sent < count && out.try_push(Message::make(sent + 1))) ++sent;
        DeviceFar const far;
        far.store_word(accepted, sent);
        while (sent < count && push_patiently(out, Message::make(sent + 1))) ++sent;
    }
};

namespace {

class DeviceRingTest : public KernelTest {
   protected:
    // `count` messages there and back, as many in flight as the rings allow.
    void expect_echo(std::uint32_t count, RingOptions const& options) {
        ToDevice to(device(), options);
        ToHost from(device(), options);
        auto const kernel =
            launch(device(), 1, EchoBody{to.device_handle(), from.device_handle(), count});
        std::uint32_t sent = 0;
        for (std::uint32_t received = 0; received < count;) {
            while (sent < count && to.try_push(Message::make(sent + 1))) ++sent;
            Message const message = from.pop(patience);
            ASSERT_EQ(message.number, ++received);
            ASSERT_TRUE(message.whole());
        }
        EXPECT_TRUE(kernel.wait(patience));
        EXPECT_FALSE(from.try_pop().has_value());
    }
};
CARILLON_ON_EVERY_DEVICE(DeviceRingTest);
CARILLON_ON_HOST_MEMORY(DeviceRingTest);

TEST_P(DeviceRingTest, tenThousandMessagesGoThereAndBackWholeAndInOrder) {
    expect_echo(10'000, {.capacity = 64});
}

TEST_P(DeviceRingTest, smallestRingWrapsAtItsLastSlot) { expect_echo(500, {.capacity = 2}); }

// Catches a batch that is cut, doubled or out of order where it does not fit, or goes on at slot 0.
TEST_P(DeviceRingTest, batchesGoThereAndBackWholeAndInOrder) {
    constexpr std::uint32_t count = 1000;
    ToDevice to(device(), {.capacity = 16});
    ToHost from(device(), {.capacity = 16});
    auto const kernel =
        launch(device(), 1, EchoBody{to.device_handle(), from.device_handle(), count});
    std::vector<Message> messages;
    for (std::uint64_t i = 1; i <= count; ++i) messages.push_back(Message::make(i));
    std::span<Message const> left = messages;
    std::array<Message, 7> taken{};
    auto const deadline = std::chrono::steady_clock::now() + patience;
    for (std::uint32_t received = 0; received < count;) {
        left = left.subspan(to.try_push_n(left.first(std::min<std::size_t>(left.size(), 11))));
        std::size_t const arrived = from.try_pop_n(taken);
        for (Message const& each : std::span(taken).first(arrived)) {
            ASSERT_EQ(each.number, ++received);
            ASSERT_TRUE(each.whole());
        }
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    }
    EXPECT_EQ(from.try_pop_n(taken), 0U);
    EXPECT_TRUE(kernel.wait(patience));
}

TEST_P(DeviceRingTest, tagsWrapInBothDirections) {
    expect_echo(200, {.capacity = 4, .for_tests = {.first = just_below_the_tags_wrap}});
    expect_echo(200, {.capacity = 64, .for_tests = {.first = just_below_the_tags_wrap}});
}

TEST_P(DeviceRingTest, fullRingToTheDeviceRefusesAndGoesOnLater) {
    ToDevice to(device(), {.capacity = 4});
    ToHost from(device(), {.capacity = 4});
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(to.try_push(Message::make(i)));
    EXPECT_FALSE(to.try_push(Message::make(5)));
    EXPECT_THROW(to.push(Message::make(5), 1ms), TimeoutError);
    auto const kernel = launch(device(), 1, EchoBody{to.device_handle(), from.device_handle(), 6});
    for (std::uint64_t i = 5; i <= 6; ++i) to.push(Message::make(i), patience);
    for (std::uint64_t i = 1; i <= 6; ++i) EXPECT_EQ(from.pop(patience).number, i);
    EXPECT_TRUE(kernel.wait(patience));
}

// Catches a device that overwrites messages that the host has not taken.
TEST_P(DeviceRingTest, fullRingToTheHostRefusesAndGoesOnLater) {
    ToHost from(device(), {.capacity = 4});
    Memory const counter = device().allocate_host(64);
    auto const kernel = launch(
        device(), 1,
        FillBody{from.device_handle(), static_cast<std::uint64_t*>(counter.device_ptr()), 10});
    auto const accepted = [&] {
        return HostCached().load_word(static_cast<std::uint64_t*>(counter.host_ptr()));
    };
    ASSERT_TRUE(eventually([&] { return accepted() != 0; }));
    EXPECT_EQ(accepted(), 4U);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        Message const message = from.pop(patience);
        EXPECT_EQ(message.number, i);
        EXPECT_TRUE(message.whole());
    }
    EXPECT_TRUE(kernel.wait(patience));
}

TEST_P(DeviceRingTest, nothingComesFromAnEmptyRing) {
    ToHost from(device(), {.capacity = 4, .for_tests = {.first = just_below_the_tags_wrap}});
    EXPECT_FALSE(from.try_pop().has_value());
    EXPECT_THROW((void)from.pop(1ms), TimeoutError);
    EXPECT_EQ(from.capacity(), 4U);
}

}  // namespace
}  // namespace carillon::test
