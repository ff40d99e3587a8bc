// SPDX-License-Identifier: Apache-2.0
// Messages one behind the other that are taken, and answered, together.
#include <gtest/gtest.h>

#include <carillon/detail/kernel/channel_bodies.hpp>
#include <carillon/detail/kernel/serve.hpp>
#include <type_traits>
#include <vector>

#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

struct RefersToData {
    static constexpr bool out_of_line = true;
};
struct RefersToNothing {};

// A bulk copy has no order with the data that a reply refers to (docs/dev/guarantees.md).
TEST(ReplyFarTest, repliesThatReferToDataLeaveByPlainStores) {
    EXPECT_TRUE((std::is_same_v<detail::ReplyFar<RefersToData>, DeviceFar>));
    EXPECT_TRUE((std::is_same_v<detail::ReplyFar<RefersToNothing>, DeviceBulkFar>));
}

// Messages 1 to `count` with message `missing` not there yet.
void put_messages(RingMemory& memory, std::uint64_t count, std::uint64_t missing) {
    for (std::uint64_t n = 1; n <= count; ++n) {
        if (n != missing) memory.slot(n - 1) = pack(Whole::make(n), tag_of(n));
    }
}

// Catches a row that takes a message behind one that is not there, and one that takes too many.
TEST(RowTest, endsAtTheFirstMessageThatIsNotThere) {
    for (std::uint64_t missing = 1; missing <= 4; ++missing) {
        RingMemory memory(8);
        Consumer<Whole, DeviceNear, DeviceFar> consumer(memory.view());
        std::vector<Whole> got;
        auto const take = [&](std::uint32_t i, Line const& line) {
            EXPECT_EQ(i, (got.size()) % 4);
            got.push_back(unpack<Whole>(line));
        };
        put_messages(memory, 4, missing);
        EXPECT_EQ(consumer.try_consume_row<4>(4, take), missing - 1);
        EXPECT_EQ(consumer.next(), missing);
        EXPECT_EQ(got.size(), missing - 1);
    }
    RingMemory memory(8);
    Consumer<Whole, DeviceNear, DeviceFar> consumer(memory.view());
    put_messages(memory, 4, 0);
    auto const nothing = [](std::uint32_t /*i*/, Line const& /*line*/) {};
    EXPECT_EQ(consumer.try_consume_row<4>(3, nothing), 3U);
    EXPECT_EQ(consumer.next(), 4U);
}

TEST(RowTest, creditIsReturnedForWhatWasTaken) {
    RingMemory memory(8);
    Consumer<Whole, DeviceNear, DeviceFar> consumer(memory.view());
    auto const nothing = [](std::uint32_t /*i*/, Line const& /*line*/) {};
    put_messages(memory, 5, 0);
    ASSERT_EQ(consumer.try_consume_row<4>(4, nothing), 4U);
    EXPECT_EQ(memory.credit(), 0U);
    ASSERT_EQ(consumer.try_consume_row<4>(4, nothing), 1U);
    EXPECT_EQ(memory.credit(), 4U);
}

// Catches a consumer of an MPMC ring that passes a line over for those behind it.
TEST(RowTest, ofAnMpmcRingEndsAtTheFirstMessageThatIsNotThere) {
    for (Sequence missing = 1; missing <= 8; ++missing) {
        MpmcRingSlots ring(16, 8);
        MpmcTestConsumer<Whole> consumer(ring.view());
        for (Sequence n = 1; n <= 8; ++n) {
            if (n != missing) *ring.view().slot(n) = pack(Whole::make(n), tag_of(n));
        }
        TakenMessages<Whole> taken;
        EXPECT_FALSE(taken.poll(consumer, missing));
        EXPECT_EQ(taken.messages.size(), missing - 1);
        *ring.view().slot(missing) = pack(Whole::make(missing), tag_of(missing));
        ASSERT_TRUE(taken.poll(consumer, 8));
        for (Sequence n = 1; n <= 8; ++n) EXPECT_EQ(taken.messages[n - 1], Whole::make(n));
    }
}

// Ends when nothing more comes.
template <bool quick = true>
struct UntilIdle {
    static void report_started() {}
    static void report_ended() {}
    static std::uint32_t polls_before_rest() { return 1; }
    static void spin() {}
    static void idle() {}
    static void rest(std::uint32_t /*polls*/) {}
    static bool busy() { return false; }
    static bool was_quick() { return quick; }
    static bool stop_now() { return true; }
};

struct EchoWhole {
    Whole operator()(Whole const& request) const { return request; }
};

// Catches an answer that is lost among those that leave together.
template <class Far>
void expect_an_answer_each(Far const& far) {
    for (std::uint64_t count = 1; count <= 12; ++count) {
        RingMemory requests(16);
        RingMemory replies(16);
        put_messages(requests, count, 0);
        EchoWhole echo;
        serve(DeviceChannel<Whole, Whole, DeviceNear, Far>(requests.view(), replies.view(),
                                                           DeviceNear(), far),
              echo, UntilIdle<>());
        Consumer<Whole, HostCached, HostMapped> host(replies.view());
        for (std::uint64_t n = 1; n <= count; ++n) {
            Whole reply{};
            ASSERT_TRUE(host.try_pop(reply)) << n << " of " << count;
            EXPECT_EQ(reply, Whole::make(n));
        }
    }
}

TEST(RowTest, everyRequestThatIsThereIsAnswered) {
    expect_an_answer_each(DeviceFar());
    expect_an_answer_each(DeviceBulkFar());
}

// Counts lines that leave together.
struct CountingFar : DeviceFar {
    template <std::size_t most>
    void stage(Line* to, std::uint32_t /*i*/, Line const& line, std::size_t quads) const {
        ++staged;
        store_line(to, line, 0, quads);
    }
    template <std::size_t most>
    void store_staged(Line* /*to*/, std::size_t /*count*/, std::size_t /*quads*/) const {}

    inline static unsigned staged = 0;
};

template <bool quick>
unsigned answers_in_rows() {
    RingMemory requests(16);
    RingMemory replies(16);
    put_messages(requests, 9, 0);
    EchoWhole echo;
    CountingFar::staged = 0;
    serve(DeviceChannel<Whole, Whole, DeviceNear, CountingFar>(requests.view(), replies.view()),
          echo, UntilIdle<quick>());
    EXPECT_TRUE(has_arrived(replies.slot(8), 9));
    return CountingFar::staged;
}

// Catches replies that wait for slow handlers.
TEST(RowTest, onlyQuickAnswersWaitForEachOther) {
    EXPECT_EQ(answers_in_rows<true>(), 8U);
    EXPECT_EQ(answers_in_rows<false>(), 0U);
}

}  // namespace
}  // namespace carillon::test
