// SPDX-License-Identifier: Apache-2.0
// Many requests under way through one channel, which a block takes and answers in rows.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/ring_memory.hpp"
#include "support/sanitized.hpp"
#include "support/sized.hpp"

namespace carillon::test {

// Each reply depends on all requests so far: a request that is lost, doubled or out of order shows.
template <std::size_t size>
struct Chained {
    std::uint64_t chain = 0;

    CARILLON_HD static constexpr std::uint64_t next(std::uint64_t chain, std::uint64_t number) {
        return (chain ^ number) * 0x9e3779b97f4a7c15U + 1;
    }
    CARILLON_HD SizedWords<size> operator()(SizedWords<size> const& request) {
        chain = next(chain, request.whole() ? request.number() : 0);
        return SizedWords<size>::make(chain);
    }
};

// Holds a request back at the gate, and throws at number 100.
struct ThrowsAtAHundred {
    GatedHandler gated;

    CARILLON_HD CountedReply operator()(GatedRequest const& request) {
        CountedReply const reply = gated(request);
#if !defined(__CUDA_ARCH__)
        if (request.value == 100) throw std::domain_error("a hundred");
#endif
        return reply;
    }
};

namespace {

class RowsUnderWayTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(RowsUnderWayTest);
CARILLON_ON_HOST_MEMORY(RowsUnderWayTest);

// Rows of 1 to 13, up to `capacity` outstanding; replies are taken in parts.
template <std::size_t size>
void expect_in_order(Device const& device, ChannelShape const& shape) {
    using Message = SizedWords<size>;
    constexpr std::uint64_t count = repeated(500);
    auto const memory = std::make_shared<ChannelMemory>(device, 1, shape, just_below_the_tags_wrap);
    PersistentKernel<Chained<size>> kernel(device, {.memory = memory});
    auto& channel = kernel.channel();
    std::vector<Message> requests;
    for (std::uint64_t i = 1; i <= count; ++i) requests.push_back(Message::make(i));
    std::span<Message const> left = requests;
    std::vector<Tickets> under_way;
    std::vector<Message> replies(5);
    std::uint64_t chain = 0;
    auto const deadline = std::chrono::steady_clock::now() + patience;
    for (std::uint64_t taken = 0; taken < count;) {
        std::size_t const wanted = std::min<std::size_t>(left.size(), 1 + taken % 13);
        Tickets const sent = channel.try_submit_n(left.first(wanted));
        left = left.subspan(sent.size());
        if (!sent.empty()) under_way.push_back(sent);
        if (under_way.empty()) continue;
        std::size_t const now = channel.try_take_n(under_way.front(), replies);
        for (std::size_t i = 0; i < now; ++i) {
            chain = Chained<size>::next(chain, ++taken);
            ASSERT_EQ(replies[i].number(), chain) << size << " bytes, request " << taken;
            ASSERT_TRUE(replies[i].whole()) << size << " bytes, request " << taken;
        }
        if (under_way.front().empty()) under_way.erase(under_way.begin());
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << size << ", " << taken;
    }
    EXPECT_TRUE(channel.all_answered());
}

template <std::size_t size>
void expect_in_order_in_rings_of_any_size(Device const& device) {
    using Message = SizedWords<size>;
    for (std::uint32_t const capacity : {2U, 8U, 64U}) {
        expect_in_order<size>(device, ChannelShape::of<Message, Message>(capacity));
    }
}

TEST_P(RowsUnderWayTest, noRequestIsLostOrOutOfItsTurn) {
    expect_in_order_in_rings_of_any_size<8>(device());
    expect_in_order_in_rings_of_any_size<24>(device());
    expect_in_order_in_rings_of_any_size<48>(device());
}

TEST_P(RowsUnderWayTest, longRequestsMayBeUnderWayToo) {
    expect_in_order_in_rings_of_any_size<56>(device());
    expect_in_order_in_rings_of_any_size<256>(device());
    expect_in_order_in_rings_of_any_size<1024>(device());
}

// Catches rows that go by the messages' lines where the memory's slots have more.
TEST_P(RowsUnderWayTest, memoryMayHaveSlotsOfMoreLinesThanTheMessagesNeed) {
    expect_in_order<8>(device(), {8, 2, 1});
    expect_in_order<48>(device(), {8, 4, 2});
    expect_in_order<24>(device(), {8, 1, 32});
    expect_in_order<56>(device(), {8, 8, 4});
    expect_in_order<256>(device(), {8, 16, 32});
}

// The first one of `count` is held back until the others are there: then they are one row.
std::vector<GatedRequest> gated_row(std::uint64_t first, std::uint64_t count) {
    std::vector<GatedRequest> row{{first, 1}};
    for (std::uint64_t i = 1; i < count; ++i) row.push_back({first + i, 0});
    return row;
}

TEST_P(RowsUnderWayTest, drainInTheMiddleOfARowAnswersAllOfIt) {
    Gate gate(device());
    PersistentKernel<GatedHandler> kernel(device(), {.capacity = 16},
                                          GatedHandler{gate.device_view()});
    Tickets tickets;
    kernel.channel().submit_n(gated_row(1, 16), tickets, patience);
    std::jthread const opens([&] {
        EXPECT_TRUE(eventually([&] { return kernel.state() == KernelState::draining; }));
        gate.open(1);
    });
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
    std::vector<CountedReply> replies(16);
    kernel.channel().take_n(tickets, replies, 0ns);
    for (std::uint64_t i = 0; i < 16; ++i) {
        EXPECT_EQ(replies[i].value, 3 * (i + 1) + 1);
        EXPECT_EQ(replies[i].served, i + 1);
    }
}

// Replies from before the end are there, in order and without a gap.
TEST_P(RowsUnderWayTest, stopInTheMiddleOfARowLeavesWhatWasAnswered) {
    for (std::uint64_t held = 1; held <= 16; held += 3) {
        Gate gate(device());
        PersistentKernel<GatedHandler> kernel(device(), {.capacity = 16},
                                              GatedHandler{gate.device_view()});
        auto row = gated_row(1, 16);
        row[held - 1].gate = 2;
        Tickets tickets;
        kernel.channel().submit_n(row, tickets, patience);
        gate.open(1);
        try {
            kernel.stop(1ms);
        } catch (TimeoutError const&) {  // a handler waits for the gate
        }
        gate.open(2);
        kernel.stop(patience);
        std::vector<CountedReply> replies(16);
        std::size_t answered = 0;
        try {
            answered = kernel.channel().try_take_n(tickets, replies);
        } catch (StoppedError const&) {  // none of them was
        }
        for (std::uint64_t i = 0; i < answered; ++i) {
            EXPECT_EQ(replies[i].value, 3 * (i + 1) + 1);
            EXPECT_EQ(replies[i].served, i + 1);
        }
    }
}

class ThrowingRowTest : public RowsUnderWayTest {
   protected:
    void SetUp() override {
        if (on_gpu()) GTEST_SKIP() << "device code cannot throw";
        RowsUnderWayTest::SetUp();
    }
};
CARILLON_ON_EVERY_DEVICE(ThrowingRowTest);

// Catches replies that are lost with the row in which a handler throws.
TEST_P(ThrowingRowTest, repliesBeforeTheOneThatThrowsArrive) {
    for (std::size_t bad = 0; bad < 12; ++bad) {
        Gate gate(device());
        PersistentKernel<ThrowsAtAHundred> kernel(device(), {.capacity = 16},
                                                  {GatedHandler{gate.device_view()}});
        auto row = gated_row(1, 12);
        row[bad].value = 100;
        Tickets tickets;
        kernel.channel().submit_n(row, tickets, patience);
        gate.open(1);
        for (std::size_t i = 0; i < bad; ++i) {
            CountedReply const reply = kernel.channel().wait(tickets[i], patience);
            EXPECT_EQ(reply.value, 3 * (i + 1) + 1) << bad;
            EXPECT_EQ(reply.served, i + 1) << bad;
        }
        for (std::size_t i = bad; i < 12; ++i) {
            CARILLON_EXPECT_ERROR(kernel.channel().wait(tickets[i], patience), std::domain_error,
                                  "a hundred");
        }
        EXPECT_THROW(kernel.stop(patience), std::domain_error);
    }
}

}  // namespace
}  // namespace carillon::test
