// SPDX-License-Identifier: Apache-2.0
// Messages of any size: the lines and quads that they fill, and how they are stored and loaded.
#include "carillon/detail/protocol/message_lines.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "carillon/detail/protocol/ring_view.hpp"
#include "support/accesses.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

constexpr Tag old_tag = 8;
constexpr Tag new_tag = 9;

using PayloadBytes = std::vector<unsigned char>;
using PackedLines = std::vector<Line>;

template <class T>
Packed<T> packed_of(PackedLines const& lines) {
    Packed<T> packed;
    std::memcpy(&packed, lines.data(), sizeof(packed));
    return packed;
}
template <class T>
PackedLines lines_of_packed(Packed<T> const& packed) {
    return {lines_in(packed), lines_in(packed) + lines_of<T>};
}
template <class T>
PayloadBytes bytes_of(T const& message) {
    return {std::begin(message.byte), std::end(message.byte)};
}

// The library's functions for messages of one size. The tests use them from outside templates:
// there are a hundred sizes, and each check in a template would take the compiler long.
struct SizedMessage {
    std::size_t size;
    std::size_t quads;
    std::size_t lines;
    std::size_t slot_lines;
    std::size_t packed_bytes;
    std::size_t quads_of_all_lines;
    MessageShape shape;
    PayloadBytes (*make)(std::uint64_t number);
    PackedLines (*pack)(std::uint64_t number, Tag tag);
    PackedLines (*retag)(PackedLines const& message, Tag tag);
    PayloadBytes (*unpack)(PackedLines const& message);
    // Loads as a ring does: returns the message, or nothing if it is not there.
    using Load = std::optional<PayloadBytes> (*)(PackedLines const& slot, Tag tag);
    Load load_on_device;
    Load load_on_host;
};

template <class T, class Near>
std::optional<PayloadBytes> load_packed(PackedLines const& slot, Tag tag) {
    Packed<T> const in_memory = packed_of<T>(slot);
    Packed<T> loaded{};
    if (!carillon::detail::load_message<T>(Near(), lines_in(in_memory), tag, loaded)) return {};
    return bytes_of(unpack<T>(loaded));
}

template <std::size_t size>
SizedMessage sized_message() {
    using T = SizedBytes<size>;
    std::size_t quads = 0;
    for (std::size_t i = 0; i < lines_of<T>; ++i) quads += quads_in_line<T>(i);
    return {size,
            quads_of<T>,
            lines_of<T>,
            slot_lines_of<T>,
            sizeof(Packed<T>),
            quads,
            shape_of<T>(),
            [](std::uint64_t number) { return bytes_of(T::make(number)); },
            [](std::uint64_t number, Tag tag) {
                return lines_of_packed<T>(pack(T::make(number), tag));
            },
            [](PackedLines const& message, Tag tag) {
                return lines_of_packed<T>(with_tag(packed_of<T>(message), tag));
            },
            [](PackedLines const& message) { return bytes_of(unpack<T>(packed_of<T>(message))); },
            load_packed<T, DeviceNear>,
            load_packed<T, HostCached>};
}

template <std::size_t... size>
void add_sizes(std::vector<SizedMessage>& to, std::index_sequence<size...> /*sizes*/) {
    (to.push_back(sized_message<size>()), ...);
}
std::vector<SizedMessage> const& every_size() {
    static std::vector<SizedMessage> const sizes = [] {
        std::vector<SizedMessage> all;
        [&]<std::size_t... i>(std::index_sequence<i...>) {
            add_sizes(all, std::index_sequence<i + 1 ...>());
        }
        (std::make_index_sequence<120>());
        add_sizes(all, std::index_sequence<121, 191, 192, 193, 256, 512, 767, 768, 769, 1000, 1008,
                                           1009, 1022, 1023, 1024>());
        return all;
    }();
    return sizes;
}

// Quad i of a message, wherever it is.
Quad& quad_of(PackedLines& message, std::size_t i) {
    return message.at(i / quads_per_line).quads[i % quads_per_line];
}

TEST(MessageSizesTest, messageFillsAsManyQuadsAsItsBytesNeed) {
    ASSERT_EQ(every_size().size(), 135U);
    for (SizedMessage const& of : every_size()) {
        SCOPED_TRACE(of.size);
        EXPECT_GE(of.quads * 12, of.size);
        EXPECT_LT((of.quads - 1) * 12, of.size);
        EXPECT_GE(of.lines * 4, of.quads);
        EXPECT_LT((of.lines - 1) * 4, of.quads);
        EXPECT_GE(of.slot_lines, of.lines);
        EXPECT_LT(of.slot_lines / 2, of.lines);
        EXPECT_EQ(of.slot_lines & (of.slot_lines - 1), 0U);
        EXPECT_EQ(of.packed_bytes, of.lines * sizeof(Line));
        EXPECT_EQ(of.shape.quads, of.quads);
        EXPECT_EQ(of.shape.slot_lines, of.slot_lines);
        EXPECT_EQ(of.quads_of_all_lines, of.quads);
    }
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
    for (SizedMessage const& of : every_size()) {
        PackedLines const packed = of.pack(of.size, new_tag);
        EXPECT_EQ(of.unpack(packed), of.make(of.size)) << of.size;
        EXPECT_EQ(of.unpack(of.retag(packed, ~Tag{0})), of.make(of.size)) << of.size;
    }
}

// Catches bytes of the stack that cross the bus, and quads of a message under another tag.
TEST(MessageSizesTest, payloadLiesInOrderAndWhatIsBeyondIsZero) {
    for (SizedMessage const& of : every_size()) {
        SCOPED_TRACE(of.size);
        PayloadBytes const message = of.make(3);
        PackedLines packed = of.pack(3, new_tag);
        for (std::size_t i = 0; i < of.lines * quads_per_line; ++i) {
            Quad const& quad = quad_of(packed, i);
            ASSERT_EQ(quad.tag(), new_tag) << i;
            unsigned char bytes[sizeof(quad)];
            std::memcpy(bytes, &quad, sizeof(quad));
            for (std::size_t at = 12 * i; at < 12 * (i + 1); ++at) {
                ASSERT_EQ(bytes[at % 12], at < of.size ? message[at] : 0) << at;
            }
        }
    }
}

void expect_every_quad_is_awaited(SizedMessage const& of, SizedMessage::Load load) {
    SCOPED_TRACE(of.size);
    PayloadBytes const message = of.make(of.size);
    PackedLines whole = of.pack(of.size, new_tag);
    PackedLines old = of.retag(of.pack(0, 0), old_tag);
    EXPECT_EQ(load(whole, new_tag), message);
    EXPECT_EQ(load(of.retag(whole, old_tag), new_tag), std::nullopt);
    for (std::size_t i = 0; i < of.lines * quads_per_line; ++i) {
        PackedLines slot = whole;
        quad_of(slot, i) = quad_of(old, i);
        EXPECT_EQ(load(slot, new_tag), i < of.quads ? std::nullopt : std::optional(message)) << i;
        PackedLines only = of.retag(whole, old_tag);  // nothing else has come
        quad_of(only, i) = quad_of(whole, i);
        bool const is_all = of.quads == 1 && i == 0;
        EXPECT_EQ(load(only, new_tag), is_all ? std::optional(message) : std::nullopt) << i;
    }
}

// Catches an arrival check that leaves a quad out, or that waits for a quad that is never stored.
TEST(MessageSizesTest, messageIsThereWhenAllItsQuadsAreAndNoOther) {
    for (SizedMessage const& of : every_size()) {
        expect_every_quad_is_awaited(of, of.load_on_device);
        expect_every_quad_is_awaited(of, of.load_on_host);
    }
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
    // Copies into a slot of a ring, and back; the memory on either side does not change.
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
    // One, two, few and many lines; full and with little in the last one.
    [this]<std::size_t... size>(std::index_sequence<size...>) { (expect_crosses<size>(), ...); }
    (std::index_sequence<1, 12, 13, 48, 49, 56, 96, 97, 193, 256, 768, 1000, 1024>());
}

}  // namespace
}  // namespace carillon::test
