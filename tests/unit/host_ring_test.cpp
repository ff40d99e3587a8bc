// SPDX-License-Identifier: Apache-2.0
// The ring between two threads of the CPU.
#include "carillon/host_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "carillon/detail/access/access.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;

static_assert(NearAccess<HostCoherent> && FarAccess<HostCoherent>);

TEST(HostRingTest, emptyRingGivesNothing) {
    HostRing<Whole> ring(4);
    Whole message{};
    EXPECT_FALSE(ring.try_pop(message));
    EXPECT_FALSE(ring.try_pop());
    EXPECT_EQ(ring.try_pop_n({&message, 1}), 0U);
    EXPECT_EQ(ring.capacity(), 4U);
}

TEST(HostRingTest, fullRingRefusesAndKeepsWhatItHas) {
    HostRing<Whole> ring(2);
    ASSERT_TRUE(ring.try_push(Whole::make(1)));
    ASSERT_TRUE(ring.try_push(Whole::make(2)));
    EXPECT_FALSE(ring.try_push(Whole::make(3)));
    Whole const more = Whole::make(4);
    EXPECT_EQ(ring.try_push_n({&more, 1}), 0U);
    EXPECT_EQ(ring.try_pop(), Whole::make(1));
    EXPECT_EQ(ring.try_pop(), Whole::make(2));
    EXPECT_FALSE(ring.try_pop());
}

// Catches slots that overlap the credit word, and a tag compared as a number.
TEST(HostRingTest, messagesComeOutInOrderOverTheLastSlotAndTheTagsWrap) {
    for (std::uint32_t const capacity : {2U, 4U, 64U}) {
        for (Sequence const first : {Sequence{1}, just_below_the_tags_wrap}) {
            HostRing<Whole> ring(capacity, first);
            std::uint64_t in = 0;
            for (std::uint64_t out = 0; out < 5 * capacity; ++out) {
                while (ring.try_push(Whole::make(in))) ++in;
                ASSERT_EQ(in - out, capacity);
                ASSERT_EQ(ring.try_pop(), Whole::make(out));
                ring.consumer().return_held();
            }
        }
    }
}

TEST(HostRingTest, severalAtOnceComeOutInOrderOverTheWrap) {
    HostRing<Whole> ring(8, just_below_the_tags_wrap);
    std::array<Whole, 8> in{};
    std::array<Whole, 8> out{};
    std::uint64_t pushed = 0;
    for (std::uint64_t popped = 0; popped < 200;) {
        for (std::uint64_t i = 0; i < 8; ++i) in.at(i) = Whole::make(pushed + i);
        pushed += ring.try_push_n({in.data(), 5});
        std::size_t const count = ring.try_pop_n(out);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out.at(i), Whole::make(popped + i));
        popped += count;
        ASSERT_EQ(popped, pushed);
    }
}

template <std::size_t size>
struct Bytes {
    std::array<std::uint8_t, size> byte;

    static Bytes make(unsigned number) {
        Bytes bytes{};
        for (std::size_t i = 0; i < size; ++i) {
            bytes.byte.at(i) = static_cast<std::uint8_t>(number + 7 * i);
        }
        return bytes;
    }
    bool operator==(Bytes const&) const = default;
};

template <class Size>
class HostRingSizeTest : public testing::Test {};
template <std::size_t n>
using Size = std::integral_constant<std::size_t, n>;
using Sizes = testing::Types<Size<1>, Size<2>, Size<8>, Size<12>, Size<47>, Size<48>>;
TYPED_TEST_SUITE(HostRingSizeTest, Sizes, );

TYPED_TEST(HostRingSizeTest, everyByteCrosses) {
    using Message = Bytes<TypeParam::value>;
    HostRing<Message> ring(4);
    for (unsigned i = 0; i < 300; ++i) {
        Message const one = Message::make(i);
        std::array const two{Message::make(i + 1), Message::make(i + 2)};
        ASSERT_TRUE(ring.try_push(one));
        ASSERT_EQ(ring.try_push_n({two.data(), 2}), 2U);
        ASSERT_EQ(ring.try_pop(), one);
        std::array<Message, 2> out{};
        ASSERT_EQ(ring.try_pop_n({out.data(), 2}), 2U);
        ASSERT_EQ(out, two);
        ASSERT_FALSE(ring.try_pop());
    }
}

struct NoDefault {
    explicit NoDefault(int v) : value(v) {}
    int value;
};

TEST(HostRingTest, messageNeedNoDefaultConstructor) {
    HostRing<NoDefault> ring(2);
    ring.push(NoDefault(7), patience);
    EXPECT_EQ(ring.pop(patience).value, 7);
}

TEST(HostRingTest, waitsEndWithATimeout) {
    HostRing<int> ring(2);
    CARILLON_EXPECT_ERROR(ring.pop(1ms), TimeoutError, "HostRing::pop: no message arrived");
    ring.push(1, patience);
    ring.push(2, patience);
    CARILLON_EXPECT_ERROR(ring.push(3, 1ms), TimeoutError, "HostRing::push: the ring stayed full");
    EXPECT_EQ(ring.pop(patience), 1);
    EXPECT_EQ(ring.pop(patience), 2);
    EXPECT_FALSE(ring.try_pop());
}

TEST(HostRingTest, capacityMustBeAPowerOfTwoWithinBounds) {
    for (std::uint32_t const capacity : {0U, 1U, 3U, 100U, (1U << 20) + 1, 1U << 21}) {
        CARILLON_EXPECT_ERROR(HostRing<int>(capacity), UsageError,
                              "HostRing: a capacity of " + std::to_string(capacity));
    }
}

constexpr std::uint64_t messages = CARILLON_THREAD_SANITIZER != 0 ? 5'000 : 20'000;

// Message i, and data outside the line that it names.
struct Named {
    Whole const* data;
    std::array<std::uint64_t, 5> number;
};

class HostRingStreamTest : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Slots, HostRingStreamTest, testing::Values(2U, 8U, 256U),
                         testing::PrintToStringParamName());

// Catches a torn line, a slot that is written too early, and a line that overtakes what it names.
TEST_P(HostRingStreamTest, messagesCrossWholeInOrderAndWithTheirData) {
    HostRing<Named> ring(GetParam(), just_below_the_tags_wrap);
    std::vector<Whole> data(messages);
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < messages; ++i) {
            data.at(i) = Whole::make(i);
            Named const message{&data.at(i), {i, i + 1, i + 2, i + 3, i + 4}};
            if (!eventually([&] { return ring.try_push(message, OutOfLine::written); })) return;
        }
    });
    std::uint64_t right = 0;
    for (Named message{}; right < messages; ++right) {
        if (!eventually([&] { return ring.try_pop(message); })) break;
        bool whole = *message.data == Whole::make(right);
        for (std::uint64_t n = 0; n < 5; ++n) whole &= message.number.at(n) == right + n;
        if (!whole) break;
    }
    EXPECT_EQ(right, messages);
    // Whatever went wrong, the producer comes to its end.
    Named message{};
    while (right++ < messages && eventually([&] { return ring.try_pop(message); })) {
    }
    producer.join();
}

TEST_P(HostRingStreamTest, severalAtOnceCrossWholeAndInOrder) {
    constexpr std::uint64_t most = 16;
    HostRing<Whole> ring(GetParam(), just_below_the_tags_wrap);
    std::thread producer([&] {
        std::array<Whole, most> batch{};
        for (std::uint64_t done = 0; done < messages;) {
            std::uint64_t const count = std::min(most, messages - done);
            for (std::uint64_t i = 0; i < count; ++i) batch.at(i) = Whole::make(done + i);
            std::size_t pushed = 0;
            if (!eventually([&] {
                    return (pushed = ring.try_push_n({batch.data(), count})) != 0;
                })) {
                return;
            }
            done += pushed;
        }
    });
    std::uint64_t wrong = 0;
    std::array<Whole, most> batch{};
    for (std::uint64_t done = 0; done < messages;) {
        std::size_t count = 0;
        if (!eventually([&] { return (count = ring.try_pop_n({batch.data(), most})) != 0; })) break;
        for (std::size_t i = 0; i < count; ++i) wrong += batch.at(i) != Whole::make(done + i);
        done += count;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_FALSE(ring.try_pop());
}

}  // namespace
}  // namespace carillon::test
