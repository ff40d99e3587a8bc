// SPDX-License-Identifier: Apache-2.0
// Messages of several lines, and several messages at once.
#include "carillon/detail/protocol/message_lines.hpp"

#include <gtest/gtest.h>

#include <array>
#include <carillon/detail/kernel/serve.hpp>
#include <cstring>
#include <vector>

#include "carillon/detail/protocol/give_up.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
namespace {

template <class T>
Quad& quad_of(Packed<T>& message, std::size_t i) {
    return lines_in(message)[i / quads_per_line].quads[i % quads_per_line];
}

// Of two lines, of three, and of more than are in flight at once.
using Sizes = testing::Types<SizedWords<56>, SizedWords<104>, SizedWords<200>, SizedWords<1024>>;
template <class T>
class MessageLinesTest : public testing::Test {
   protected:
    RingMemory memory_{4, just_below_the_tags_wrap, slot_lines_of<T>};

    void put(Packed<T> const& message) { std::memcpy(&memory_.slot(0), &message, sizeof(message)); }
    // Whether `take(message)` takes it when all quads are there, and not while one is missing.
    template <class Take>
    void expect_taken_whole(Take&& take) {
        T const sent = T::make(7);
        Packed<T> const whole = pack(sent, tag_of(just_below_the_tags_wrap));
        T got{};
        for (std::size_t missing = 0; missing < quads_of<T>; ++missing) {
            Packed<T> partly = whole;
            quad_of<T>(partly, missing) = Quad{};
            put(partly);
            EXPECT_FALSE(take(got)) << missing;
        }
        put(whole);
        ASSERT_TRUE(take(got));
        EXPECT_EQ(got, sent);
    }
    template <class Far>
    void expect_crossing(Far const& far) {
        RingMemory memory(4, just_below_the_tags_wrap, slot_lines_of<T>);
        Producer<T, Far, HostCached> producer(memory.view(), far);
        Consumer<T, DeviceNear, DeviceFar> consumer(memory.view());
        std::vector<T> const two{T::make(1001), T::make(1002)};
        for (std::uint64_t i = 0; i < 10; ++i) {
            T got{};
            ASSERT_TRUE(producer.try_push(T::make(i)));
            ASSERT_TRUE(consumer.try_pop(got));
            EXPECT_EQ(got, T::make(i));
            ASSERT_EQ(producer.try_push_n(two.data(), two.size()), two.size());
            for (T const& each : two) {
                ASSERT_TRUE(consumer.try_pop(got));
                EXPECT_EQ(got, each);
            }
            EXPECT_FALSE(consumer.try_pop(got));
        }
    }
};
TYPED_TEST_SUITE(MessageLinesTest, Sizes);

// Catches a consumer that looks at some of the lines only.
TYPED_TEST(MessageLinesTest, messageIsTakenWhenAllOfItsQuadsAreThere) {
    Consumer<TypeParam, DeviceNear, DeviceFar> device(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) { return device.try_pop(got); });
    Consumer<TypeParam, HostCached, HostMapped> host(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) { return host.try_pop(got); });
}

TYPED_TEST(MessageLinesTest, lanesTakeItWhenAllOfItsQuadsAreThere) {
    Consumer<TypeParam, DeviceNear, DeviceFar> consumer(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) {
        detail::MessageWords<lines_of<TypeParam>> words{};
        auto const put = [&](std::size_t i, Quad const& quad) {
            std::uint32_t* const word = words.word + i * payload_words_per_quad;
            word[0] = static_cast<std::uint32_t>(quad.low);
            word[1] = static_cast<std::uint32_t>(quad.low >> 32);
            word[2] = static_cast<std::uint32_t>(quad.high);
        };
        if (!consumer.try_take_quads(put)) return false;
        std::memcpy(&got, &words, sizeof(got));
        return true;
    });
}

// Catches a policy that stores some of the lines only.
TYPED_TEST(MessageLinesTest, everyWayOfStoringStoresAllLines) {
    this->expect_crossing(DeviceFar());
    this->expect_crossing(DeviceBulkFar());
    for (PublishMode const mode : {PublishMode::one_step, PublishMode::two_step}) {
        this->expect_crossing(HostMapped({StoreKind::cached, mode}));
    }
}

// Catches a request of a dead client that is given up although it will be answered, or held for an
// answer that never comes.
TYPED_TEST(MessageLinesTest, requestWasWrittenWhenAllOfItsQuadsWere) {
    MpmcRingView view{};
    view.slots = &this->memory_.slot(0);
    view.capacity = 4;
    view.shape = shape_of<TypeParam>();
    Sequence const number = 5;
    for (std::size_t missing = 0; missing < quads_of<TypeParam>; ++missing) {
        auto partly = pack(TypeParam::make(7), tag_of(number));
        quad_of<TypeParam>(partly, missing).high = std::uint64_t{1} << 32;
        this->put(partly);
        EXPECT_FALSE(was_written(view, number, HostCached())) << missing;
    }
    this->put(pack(TypeParam::make(7), tag_of(number)));
    EXPECT_TRUE(was_written(view, number, HostCached()));
}

// Catches credit that is returned for what was not taken, or kept for ever.
TYPED_TEST(MessageLinesTest, lanesReturnCreditForWhatTheyTookAndAllOfItAfterManyLooks) {
    auto const nothing = [](std::size_t /*i*/, Quad const& /*quad*/) {};
    Sequence const first = just_below_the_tags_wrap;
    RingMemory memory(16, first, slot_lines_of<TypeParam>);
    Producer<TypeParam, DeviceFar, DeviceNear> producer(memory.view());
    Consumer<TypeParam, DeviceNear, DeviceFar> consumer(memory.view());
    for (std::uint64_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(producer.try_push(TypeParam::make(i)));
        ASSERT_TRUE(consumer.try_take_quads(nothing));
        EXPECT_EQ(memory.credit(), first - 1 + (i < 4 ? 0 : 4));
    }
    for (unsigned i = 1; i < decltype(consumer)::misses_before_return; ++i) {
        ASSERT_FALSE(consumer.try_take_quads(nothing));
        ASSERT_EQ(memory.credit(), first - 1 + 4);
    }
    ASSERT_FALSE(consumer.try_take_quads(nothing));
    EXPECT_EQ(memory.credit(), first - 1 + 5);
}

// Messages 1 to `count` with message `missing` not there yet.
void fill(RingMemory& memory, std::uint64_t count, std::uint64_t missing) {
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
        fill(memory, 4, missing);
        EXPECT_EQ(consumer.try_consume_row<4>(4, take), missing - 1);
        EXPECT_EQ(consumer.next(), missing);
        EXPECT_EQ(got.size(), missing - 1);
    }
    RingMemory memory(8);
    Consumer<Whole, DeviceNear, DeviceFar> consumer(memory.view());
    fill(memory, 4, 0);
    auto const nothing = [](std::uint32_t /*i*/, Line const& /*line*/) {};
    EXPECT_EQ(consumer.try_consume_row<4>(3, nothing), 3U);
    EXPECT_EQ(consumer.next(), 4U);
}

TEST(RowTest, creditIsReturnedForWhatWasTaken) {
    RingMemory memory(8);
    Consumer<Whole, DeviceNear, DeviceFar> consumer(memory.view());
    auto const nothing = [](std::uint32_t /*i*/, Line const& /*line*/) {};
    fill(memory, 5, 0);
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
struct UntilIdle {
    static void report_started() {}
    static void report_ended() {}
    static std::uint32_t polls_before_rest() { return 1; }
    static void spin() {}
    static void idle() {}
    static void rest(std::uint32_t /*polls*/) {}
    static bool busy() { return false; }
    static bool stop_now() { return true; }
};

struct Echo {
    Whole operator()(Whole const& request) const { return request; }
};

// Catches an answer that is lost among those that leave together.
template <class Far>
void expect_an_answer_each(Far const& far) {
    for (std::uint64_t count = 1; count <= 12; ++count) {
        RingMemory requests(16);
        RingMemory replies(16);
        fill(requests, count, 0);
        Echo echo;
        serve(DeviceChannel<Whole, Whole, DeviceNear, Far>(requests.view(), replies.view(),
                                                           DeviceNear(), far),
              echo, UntilIdle());
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

}  // namespace
}  // namespace carillon::test
