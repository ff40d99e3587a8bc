// SPDX-License-Identifier: Apache-2.0
// Messages of any size: the lines and quads that they fill, and how they are stored and loaded.
#include "carillon/detail/protocol/message_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "carillon/detail/protocol/ring_view.hpp"
#include "support/accesses.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
namespace {

constexpr Tag old_tag = 8;
constexpr Tag new_tag = 9;

// Calls use.operator()<size>() for each of them.
template <std::size_t... size, class Use>
void for_sizes(std::index_sequence<size...> /*sizes*/, Use use) {
    (use.template operator()<size>(), ...);
}
using LargeSizes = std::index_sequence<121, 191, 192, 193, 256, 512, 767, 768, 769, 1000, 1008,
                                       1009, 1022, 1023, 1024>;
template <class Use>
void for_every_size(Use use) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        for_sizes(std::index_sequence<i + 1 ...>(), use);
    }
    (std::make_index_sequence<120>());
    for_sizes(LargeSizes(), use);
}
// One, two, few and many lines; full and with little in the last one.
using SomeSizes = std::index_sequence<1, 12, 13, 48, 49, 56, 96, 97, 193, 256, 768, 1000, 1024>;

// Quad i of a message, wherever it is.
template <class Packed>
auto& quad_of(Packed& packed, std::size_t i) {
    return lines_in(packed)[i / quads_per_line].quads[i % quads_per_line];
}

TEST(MessageSizesTest, messageFillsAsManyQuadsAsItsBytesNeed) {
    for_every_size([]<std::size_t size>() {
        using T = SizedBytes<size>;
        EXPECT_GE(quads_of<T> * 12, size);
        EXPECT_LT((quads_of<T> - 1) * 12, size);
        EXPECT_GE(lines_of<T> * 4, quads_of<T>);
        EXPECT_LT((lines_of<T> - 1) * 4, quads_of<T>);
        EXPECT_GE(slot_lines_of<T>, lines_of<T>);
        EXPECT_LT(slot_lines_of<T> / 2, lines_of<T>);
        EXPECT_EQ(slot_lines_of<T> & (slot_lines_of<T> - 1), 0U);
        EXPECT_EQ(sizeof(Packed<T>), lines_of<T> * sizeof(Line));
        EXPECT_EQ(shape_of<T>().quads, quads_of<T>);
        EXPECT_EQ(shape_of<T>().slot_lines, slot_lines_of<T>);
        std::size_t quads = 0;
        for (std::size_t i = 0; i < lines_of<T>; ++i) quads += quads_in_line<T>(i);
        EXPECT_EQ(quads, quads_of<T>) << size;
    });
}

TEST(MessageSizesTest, quadsAndLinesAtTheEdges) {
    EXPECT_EQ(quads_of<SizedBytes<1>>, 1U);
    EXPECT_EQ(quads_of<SizedBytes<12>>, 1U);
    EXPECT_EQ(quads_of<SizedBytes<13>>, 2U);
    EXPECT_EQ(quads_of<SizedBytes<48>>, 4U);
    EXPECT_EQ(lines_of<SizedBytes<48>>, 1U);
    EXPECT_EQ(quads_of<SizedBytes<49>>, 5U);
    EXPECT_EQ(lines_of<SizedBytes<49>>, 2U);
    EXPECT_EQ(lines_of<SizedBytes<96>>, 2U);
    EXPECT_EQ(slot_lines_of<SizedBytes<96>>, 2U);
    EXPECT_EQ(lines_of<SizedBytes<97>>, 3U);
    EXPECT_EQ(slot_lines_of<SizedBytes<97>>, 4U);
    EXPECT_EQ(quads_of<SizedBytes<1024>>, 86U);
    EXPECT_EQ(lines_of<SizedBytes<1024>>, 22U);
    EXPECT_EQ(slot_lines_of<SizedBytes<1024>>, 32U);
}

TEST(MessageSizesTest, everySizeSurvivesPackAndUnpack) {
    for_every_size([]<std::size_t size>() {
        using T = SizedBytes<size>;
        Packed<T> const packed = pack(T::make(size), new_tag);
        EXPECT_EQ(unpack<T>(packed), T::make(size)) << size;
        EXPECT_EQ(unpack<T>(with_tag(packed, ~Tag{0})), T::make(size)) << size;
    });
}

// Catches bytes of the stack that cross the bus, and quads of a message under another tag.
TEST(MessageSizesTest, payloadLiesInOrderAndWhatIsBeyondIsZero) {
    for_every_size([]<std::size_t size>() {
        using T = SizedBytes<size>;
        T const message = T::make(3);
        Packed<T> const packed = pack(message, new_tag);
        unsigned char bytes[sizeof(packed)];
        std::memcpy(bytes, &packed, sizeof(packed));
        for (std::size_t quad = 0; quad < lines_of<T> * quads_per_line; ++quad) {
            ASSERT_EQ(quad_of(packed, quad).tag(), new_tag) << size << ", quad " << quad;
            for (std::size_t i = 0; i < 12; ++i) {
                std::size_t const at = quad * 12 + i;
                ASSERT_EQ(bytes[quad * 16 + i], at < size ? message.byte[at] : 0) << size;
            }
        }
    });
}

// Loads as a ring does; what came is the message.
template <class T, class Near>
bool loads(Near const& near, Packed<T> const& slot, T const& message) {
    Packed<T> loaded{};
    if (!carillon::detail::load_message<T>(near, lines_in(slot), new_tag, loaded)) return false;
    EXPECT_EQ(unpack<T>(loaded), message) << sizeof(T);
    return true;
}

template <std::size_t size, class Near>
void expect_every_quad_is_awaited(Near const& near) {
    using T = SizedBytes<size>;
    T const message = T::make(size);
    Packed<T> const whole = pack(message, new_tag);
    Packed<T> const old = with_tag(pack(T::make(0), 0), old_tag);
    EXPECT_TRUE(loads(near, whole, message)) << size;
    EXPECT_FALSE(loads(near, with_tag(whole, old_tag), message)) << size;
    for (std::size_t i = 0; i < lines_of<T> * quads_per_line; ++i) {
        Packed<T> slot = whole;
        quad_of(slot, i) = quad_of(old, i);
        EXPECT_EQ(loads(near, slot, message), i >= quads_of<T>) << size << ", quad " << i;
        Packed<T> only = with_tag(whole, old_tag);  // nothing else has come
        quad_of(only, i) = quad_of(whole, i);
        EXPECT_EQ(loads(near, only, message), quads_of<T> == 1 && i == 0) << size << ", " << i;
    }
}

// Catches an arrival check that leaves a quad out, or that waits for one which nobody stores.
TEST(MessageSizesTest, messageIsThereWhenAllItsQuadsAreAndNoOther) {
    for_every_size([]<std::size_t size>() { expect_every_quad_is_awaited<size>(DeviceNear()); });
    for_sizes(SomeSizes(),
              []<std::size_t size>() { expect_every_quad_is_awaited<size>(HostCached()); });
}

TEST(MessageSizesTest, rowIsLoadedFromItsSlots) {
    RingMemory ring(4);
    Line messages[4];
    for (Sequence s = 1; s <= 4; ++s) *ring.view().slot(s) = pack(SizedBytes<20>::make(s), Tag(s));
    carillon::detail::load_row<SizedBytes<20>>(
        DeviceNear(), messages, [&](std::uint32_t i) { return ring.view().slot(3 + i); });
    for (std::uint32_t i = 0; i < 4; ++i) {
        Sequence const number = i < 2 ? 3 + i : i - 1;
        EXPECT_TRUE(has_arrived(messages[i], Tag(number), 2));
        EXPECT_EQ(unpack<SizedBytes<20>>(messages[i]), SizedBytes<20>::make(number));
    }
}

class MessageAccessTest : public AccessTest {
   protected:
    // Into a slot of a ring, and from there; what lies on either side stays as it is.
    template <std::size_t size>
    void expect_crosses() {
        using T = SizedBytes<size>;
        RingMemory ring(4, 1, slot_lines_of<T>);
        auto const near = Access::near_of(GetParam().consumer);
        auto const far = GetParam().far_of(GetParam().producer);
        Sequence const number = 2;
        Line* const slot = ring.view().slot(number);
        T const message = T::make(size);
        carillon::detail::store_message<T>(far, slot, pack(message, Tag(number)),
                                           tag_of(number - 4));
        far.commit(slot, sizeof(Packed<T>));
        Packed<T> loaded{};
        ASSERT_TRUE(carillon::detail::load_message<T>(near, slot, Tag(number), loaded)) << size;
        EXPECT_EQ(unpack<T>(loaded), message) << size;
        for (Sequence const other : {1, 3, 4}) {
            for (std::uint32_t i = 0; i < slot_lines_of<T>; ++i) {
                EXPECT_TRUE(has_arrived(ring.view().slot(other)[i], tag_of(other - 4))) << size;
            }
        }
        for (std::size_t i = lines_of<T>; i < slot_lines_of<T>; ++i) {
            EXPECT_TRUE(has_arrived(slot[i], tag_of(number - 4))) << size;
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Over, MessageAccessTest, testing::ValuesIn(all_accesses()),
                         test_name<Access>);

TEST_P(MessageAccessTest, messageOfAnySizeCrossesAndLeavesItsNeighboursAlone) {
    for_sizes(SomeSizes(), [this]<std::size_t size>() { expect_crosses<size>(); });
}

}  // namespace
}  // namespace carillon::test
