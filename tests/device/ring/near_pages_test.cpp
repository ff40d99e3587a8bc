// SPDX-License-Identifier: Apache-2.0
// A ring to the device lies in pairs of pages, and the device chooses one page of each pair.
// `carillon rtt` shows which one is nearer; here messages need only arrive.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"
#include "support/usable.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using ToDevice = Ring<Message, Direction::to_device>;
using ToHost = Ring<Message, Direction::to_host>;

class NearPagesTest : public KernelTest {
   protected:
    // All page words of a ring to the device are there.
    static bool chosen(ChannelMemory const& memory, unsigned channel) {
        RingView const view = memory.host_view().channel(channel).requests;
        std::uint32_t const words = PagePairs::words(view.capacity, view.pages.page_shift);
        for (std::uint32_t i = 0; i < words; ++i) {
            PageWord const word = HostCached().load_word(view.pages.told + i);
            if ((word & known_pages) == 0) return false;
        }
        return true;
    }

    // Sends `before` messages before the kernel is there, and the rest at once.
    void expect_arrival(std::uint32_t capacity, std::uint32_t before, std::uint32_t count) {
        RingOptions const options{.capacity = capacity,
                                  .for_tests = {.first = just_below_the_tags_wrap}};
        ToDevice to(device(), options);
        ToHost from(device(), {.capacity = 64});
        std::vector<Message> messages;
        for (std::uint64_t i = 1; i <= count; ++i) messages.push_back(Message::make(i));
        std::span<Message const> left = messages;
        left = left.subspan(to.try_push_n(left.first(before)));
        ASSERT_EQ(left.size(), count - before);
        auto const kernel =
            launch(device(), 1, EchoBody{to.device_handle(), from.device_handle(), count});
        for (std::uint32_t received = 0; received < count; ++received) {
            left = left.subspan(to.try_push_n(left.first(std::min<std::size_t>(left.size(), 100))));
            Message const message = from.pop(patience);
            ASSERT_EQ(message.number, received + 1);
            ASSERT_TRUE(message.whole());
        }
        EXPECT_TRUE(kernel.wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(NearPagesTest);
CARILLON_ON_HOST_MEMORY(NearPagesTest);

// Catches lines that went only to the page that the device did not choose. 4096 slots have 64
// pairs, which two words describe.
TEST_P(NearPagesTest, ringThatIsFullBeforeItsKernelStartsArrivesAndGoesOn) {
    for (std::uint32_t capacity : {2U, 32U, 64U, 128U, 2048U, 4096U}) {
        SCOPED_TRACE(capacity);
        expect_arrival(capacity, capacity, 2 * capacity + 70);
    }
}

// Catches a line that is lost because the device's measurement writes the old content back.
TEST_P(NearPagesTest, linesThatTheHostWritesWhileTheDeviceChoosesArrive) {
    for (int run = 0; run < 50; ++run) {
        SCOPED_TRACE(run);
        expect_arrival(256, 0, 256);
    }
}

TEST_P(NearPagesTest, blockThatHasStartedHasChosenThePagesOfAllItsChannels) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 4, 4096);
    if (!memory->host_view().channel(0).requests.in_pairs()) {
        GTEST_SKIP() << "in host memory rings lie in no pairs of pages: there is none to choose";
    }
    {
        PersistentKernel<Triple> kernel(device(), {.blocks = 2, .memory = memory});
        EXPECT_TRUE(chosen(*memory, 0) && chosen(*memory, 1));
        EXPECT_FALSE(chosen(*memory, 2));
        EXPECT_EQ(kernel.channel(1).call(2, patience), 6);
    }
    {
        PersistentKernel<Triple> kernel(
            device(), {.blocks = 2, .memory = memory, .channels = {.express = true}});
        for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(chosen(*memory, i)) << i;
    }
    {
        PersistentKernel<Triple, WatchedChannels> kernel(device(),
                                                         {.memory = memory, .watched = {4}});
        for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(chosen(*memory, i)) << i;
        for (long i = 0; i < 300; ++i) ASSERT_EQ(kernel.channel(3).call(i, patience), 3 * i);
    }
}

// Catches a pair whose pages are not neighbours in the device's memory.
TEST_P(NearPagesTest, pairsLieAtMultiplesOfTwoPages) {
    ChannelMemory const memory(device(), 3, 16);
    for (unsigned i = 0; i < 3; ++i) {
        auto const* const slots = memory.device_view().channel(i).requests.base;
        auto const* const base = memory.device_view().in_device_memory;
        auto const offset = reinterpret_cast<std::byte const*>(slots) - base;
        EXPECT_EQ(offset % (2 * 4096), 0);
    }
}

}  // namespace
}  // namespace carillon::test
