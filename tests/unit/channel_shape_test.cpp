// SPDX-License-Identifier: Apache-2.0
// The sizes of channels' slots, and a kernel's error for memory whose slots are too small.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "carillon/carillon.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/sized.hpp"
#include "support/usable.hpp"

namespace carillon::test {
using namespace detail;

// The reply to number n is number ~n.
template <std::size_t asked, std::size_t answered>
struct ShapedHandler {
    CARILLON_HD SizedWords<answered> operator()(SizedWords<asked> const& request) const {
        return SizedWords<answered>::make(~request.number());
    }
};

namespace {

TEST(ChannelShapeTest, shapeOfTypesHasSlotsForThem) {
    using Small = SizedWords<48>;
    using Large = SizedWords<1024>;
    EXPECT_EQ((ChannelShape::of<Small, Small>(8)), (ChannelShape{8, 1, 1}));
    EXPECT_EQ((ChannelShape::of<Small, SizedWords<56>>(8)), (ChannelShape{8, 1, 2}));
    EXPECT_EQ((ChannelShape::of<SizedWords<200>, Small>(2)), (ChannelShape{2, 8, 1}));
    EXPECT_EQ((ChannelShape::of<Large, Large>(2)), (ChannelShape{2, 32, 32}));
}

class ChannelMemoryShapeTest : public testing::Test {
   protected:
    Device device_ = Device::open("emulated");
};

TEST_F(ChannelMemoryShapeTest, slotsOfNoSizeThatAMessageHasAreAUsageError) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    for (std::uint32_t const lines : {0U, 3U, 5U, 31U, 33U, 64U, 1U << 31, most}) {
        SCOPED_TRACE(lines);
        std::string const expected = "slots of " + std::to_string(lines) + " lines";
        CARILLON_EXPECT_ERROR(ChannelMemory(device_, 1, ChannelShape{4, lines, 1}), UsageError,
                              expected.c_str());
        CARILLON_EXPECT_ERROR(ChannelMemory(device_, 1, ChannelShape{4, 1, lines}), UsageError,
                              expected.c_str());
    }
    expect_usable(device_);
}

TEST_F(ChannelMemoryShapeTest, slotsOfEverySizeThatAMessageHasAreMade) {
    for (std::uint32_t const lines : {1U, 2U, 4U, 8U, 16U, 32U}) {
        ChannelShape const shape{4, lines, 32 / lines};
        ChannelMemory const memory(device_, 3, shape);
        EXPECT_EQ(memory.shape(), shape);
        for (unsigned i = 0; i < 3; ++i) {
            ChannelView const view = memory.host_view().channel(i);
            EXPECT_EQ(view.requests.slot_lines, lines);
            EXPECT_EQ(view.replies.slot_lines, 32 / lines);
            EXPECT_EQ(view.requests.slot(2) - view.requests.slot(1), std::ptrdiff_t{lines});
            // The control and status lines begin behind the last slot.
            Line const* const end = view.requests.slot(4) + lines;
            EXPECT_GE(reinterpret_cast<Line const*>(view.control), end);
            Line const* const replies_end = view.replies.slot(4) + 32 / lines;
            EXPECT_GE(reinterpret_cast<Line const*>(view.status), replies_end);
        }
    }
}

template <class Handler>
void expect_too_small(Device const& device, ChannelShape const& shape, char const* expected) {
    auto const memory = std::make_shared<ChannelMemory>(device, 2, shape);
    auto const make = [&] { PersistentKernel<Handler> const kernel(device, {.memory = memory}); };
    CARILLON_EXPECT_ERROR(make(), UsageError, "PersistentKernel");
    CARILLON_EXPECT_ERROR(make(), UsageError, expected);
}

TEST_F(ChannelMemoryShapeTest, kernelSaysWhichLinesItsMessagesNeed) {
    using Asks = ShapedHandler<56, 48>;
    using Tells = ShapedHandler<8, 1024>;
    expect_too_small<Asks>(device_, {4},
                           "slots of 1 lines for requests and 1 for replies, but the "
                           "messages need 2 and 1: use ChannelShape::of");
    expect_too_small<Asks>(device_, {4, 1, 32}, "need 2 and 1");
    expect_too_small<Tells>(device_, {4, 32, 16}, "need 1 and 32");
    expect_usable(device_);
}

TEST_F(ChannelMemoryShapeTest, watchedChannelsDoToo) {
    auto const memory = std::make_shared<ChannelMemory>(device_, 2, 4);
    auto const make = [&] {
        PersistentKernel<ShapedHandler<56, 48>, WatchedChannels> const kernel(
            device_, {.memory = memory, .watched = {.per_block = 2}});
    };
    CARILLON_EXPECT_ERROR(make(), UsageError, "the messages need 2 and 1");
}

TEST_F(ChannelMemoryShapeTest, channelToAKernelOfTheUsersOwnDoesToo) {
    auto const memory = std::make_shared<ChannelMemory>(device_, 1, 4);
    using Large = Channel<SizedWords<768>, int>;
    HostWait const wait = HostWait::for_kernel(device_.traits(), 1);
    CARILLON_EXPECT_ERROR(Large(device_, memory, 0U, wait), UsageError,
                          "Channel: the ChannelMemory has slots of 1 lines");
    Channel<int, int> const small(device_, memory, 0U, wait);
    EXPECT_EQ(small.capacity(), 4U);
}

TEST_F(ChannelMemoryShapeTest, memoryWithLargerSlotsServes) {
    auto const memory = std::make_shared<ChannelMemory>(device_, 1, ChannelShape{4, 8, 16});
    PersistentKernel<ShapedHandler<56, 48>> kernel(device_, {.memory = memory});
    for (std::uint64_t n = 0; n < 40; ++n) {
        auto const reply = kernel.channel().call(SizedWords<56>::make(n), patience);
        EXPECT_EQ(reply.number(), ~n);
        EXPECT_TRUE(reply.whole());
    }
}

}  // namespace
}  // namespace carillon::test
