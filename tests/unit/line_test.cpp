// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/wire/line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "carillon/commands.hpp"
#include "carillon/detail/kernel/serve_long.hpp"

namespace carillon {
using namespace detail;
namespace {

template <std::size_t size>
struct Sized {
    std::array<unsigned char, size> byte;
    bool operator==(Sized const&) const = default;
};

template <std::size_t size>
Sized<size> filled() {
    Sized<size> message{};
    for (std::size_t i = 0; i < size; ++i) {
        message.byte.at(i) = static_cast<unsigned char>(0xff - 5 * i);
    }
    return message;
}

template <std::size_t size>
void expect_round_trip() {
    Line const line = pack(filled<size>(), 0xa5a5a5a5);
    EXPECT_TRUE(has_arrived(line, 0xa5a5a5a5)) << size;
    EXPECT_EQ(unpack<Sized<size>>(line), filled<size>()) << size;
}

TEST(LineTest, everySizeFrom1To48SurvivesPackAndUnpack) {
    []<std::size_t... i>(std::index_sequence<i...>) { (expect_round_trip<i + 1>(), ...); }
    (std::make_index_sequence<payload_bytes>());
}

// Catches a pack that copies 48 bytes whatever the message's size.
TEST(LineTest, payloadBeyondTheMessageIsZero) {
    Line const line = pack(Sized<5>{{1, 2, 3, 4, 5}}, 7);
    auto const all = unpack<Sized<payload_bytes>>(line);
    EXPECT_TRUE(std::all_of(all.byte.begin() + 5, all.byte.end(), [](auto b) { return b == 0; }));
}

// A message whose members have several sizes.
struct Padded {
    char tag;
    std::uint64_t value;
    char end;
};
struct OfPadded {
    Padded each[5];
    double last;
};

// Fills a value whose padding is all ones.
void fill(Padded& one) {
    std::memset(&one, 0xff, sizeof(one));
    one.tag = 1;
    one.value = 2;
    one.end = 3;
}
template <class T>
auto count_of_ones(T const& object) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &object, sizeof(T));
    return std::count(bytes, bytes + sizeof(T), 0xff);
}

// Others may read the padding, so it must have no bytes of this process's stack.
TEST(LineTest, paddingIsZeroInALineAndInLines) {
    Padded one;
    fill(one);
    OfPadded several;
    std::memset(&several, 0xff, sizeof(several));
    for (Padded& each : several.each) fill(each);
    several.last = 0;
    unsigned char bytes[sizeof(OfPadded)];
    auto const ones = [&](auto const& message) {
        auto const packed = pack(message, 7);
        detail::payload_of_lines<sizeof(message)>(bytes, lines_in(packed));
        return std::count(bytes, bytes + sizeof(message), 0xff);
    };
    EXPECT_EQ(ones(one), 0);
    EXPECT_EQ(ones(several), 0);
    EXPECT_EQ(unpack<Padded>(pack(one, 7)).end, 3);
    for (Padded const& each : unpack<OfPadded>(pack(several, 7)).each) {
        EXPECT_EQ(each.tag, 1);
        EXPECT_EQ(each.value, 2U);
        EXPECT_EQ(each.end, 3);
    }
}

TEST(LineTest, paddingIsZeroInPacketsAndInWhatLanesShare) {
    Padded one;
    fill(one);
    auto const packet = detail::make_packet<detail::Packet<sizeof(Padded)>>(1, one);
    EXPECT_EQ(count_of_ones(packet), 0);
    detail::SharedMessage<Sized<sizeof(Padded) + 1>> shared;
    std::memset(&shared, 0xff, sizeof(shared));
    shared.clear_padding();
    EXPECT_EQ(count_of_ones(shared.bytes),
              sizeof(Padded) + 1);  // and not the rest of the last quad
    detail::SharedMessage<Padded> padded;
    std::memcpy(padded.bytes, &one, sizeof(one));
    padded.clear_padding();
    EXPECT_EQ(count_of_ones(padded.bytes), 0);
}

struct OfBits {
    std::uint64_t id;
    std::uint32_t side : 1, tif : 3;
    std::uint32_t : 4;
    std::uint32_t quantity : 20;
    char end;
};
struct WithBitsBehind {
    OfPadded several;
    std::uint16_t bits : 9;
    OfBits last;
};

// In a byte that is padding in part, that part is zero.
TEST(LineTest, bitFieldsStayAndPaddingBesideThemIsZero) {
#if defined(__clang__)
    GTEST_SKIP() << "clang has no constant bit_cast of bit-fields: all their bytes are kept";
#endif
    WithBitsBehind message;
    std::memset(&message, 0xff, sizeof(message));
    message.bits = 0x155;
    message.last.id = 0;
    message.last.side = 1;
    message.last.tif = 5;
    message.last.quantity = 0xaaaaa;
    message.last.end = 0;
    auto const back = unpack<WithBitsBehind>(pack(message, 7));
    EXPECT_EQ(back.bits, 0x155);
    EXPECT_EQ(back.last.side, 1U);
    EXPECT_EQ(back.last.tif, 5U);
    EXPECT_EQ(back.last.quantity, 0xaaaaaU);
    unsigned char bytes[sizeof(OfBits)];
    std::memcpy(bytes, &back.last, sizeof(bytes));
    EXPECT_EQ(bytes[8], 0x0b);
    EXPECT_EQ(bytes[11] & 0xf0, 0);
    EXPECT_EQ(std::count(bytes + 12, bytes + sizeof(bytes), 0), 4);
}

// Only a message with padding is copied, to clear the padding.
static_assert(!detail::clears_padding<std::array<double, 6>>);
static_assert(!detail::clears_padding<std::array<bool, 6>>);
static_assert(detail::clears_padding<OfPadded>);

TEST(LineTest, tagsStandAtBytes12And28And44And60) {
    Line const line = pack(filled<payload_bytes>(), 0x01020304);
    std::array<std::uint32_t, 16> words{};
    std::memcpy(words.data(), &line, sizeof(line));
    for (std::size_t i : {3U, 7U, 11U, 15U}) EXPECT_EQ(words.at(i), 0x01020304U) << i;
}

TEST(LineTest, payloadLiesInOrderBetweenTheTags) {
    Sized<payload_bytes> const message = filled<payload_bytes>();
    Line const line = pack(message, 0);
    auto const* bytes = reinterpret_cast<unsigned char const*>(&line);
    for (std::size_t i = 0; i < payload_bytes; ++i) {
        EXPECT_EQ(bytes[i / 12 * 16 + i % 12], message.byte.at(i)) << i;
    }
}

#pragma pack(push, 1)
struct Unaligned {
    char kind;
    std::int64_t price;
    std::int32_t size;
    bool operator==(Unaligned const& other) const {
        return kind == other.kind && price == other.price && size == other.size;
    }
};
#pragma pack(pop)
static_assert(sizeof(Unaligned) == 13);

TEST(LineTest, packedStructSurvives) {
    Unaligned const message{'T', -4810250000000, 17};
    EXPECT_TRUE(unpack<Unaligned>(pack(message, 1)) == message);
}

struct alignas(16) Wide {
    double first;
    double second;
};

TEST(LineTest, overAlignedTypeSurvivesAndComesBackAligned) {
    Wide const back = unpack<Wide>(pack(Wide{1.5, -2.5}, 1));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&back) % 16, 0U);
    EXPECT_EQ(back.first, 1.5);
    EXPECT_EQ(back.second, -2.5);
}

class NotDefaultConstructible {
   public:
    explicit NotDefaultConstructible(int value) : value_(value) {}
    [[nodiscard]] int value() const { return value_; }

   private:
    int value_;
};
static_assert(!std::is_default_constructible_v<NotDefaultConstructible>);

TEST(LineTest, typeWithoutDefaultConstructorSurvives) {
    EXPECT_EQ(unpack<NotDefaultConstructible>(pack(NotDefaultConstructible(-3), 1)).value(), -3);
}

// Catches a check that looks at some of the tags only.
TEST(LineTest, lineHasNotArrivedWhileAnyOneTagIsOld) {
    for (std::size_t missing = 0; missing < quads_per_line; ++missing) {
        Line line = pack(filled<payload_bytes>(), 9);
        line.quads[missing] = with_tag(line, 8).quads[missing];
        EXPECT_FALSE(has_arrived(line, 9)) << missing;
    }
}

TEST(LineTest, withTagChangesTheTagsAndNothingElse) {
    Line const line = with_tag(pack(filled<payload_bytes>(), 3), 0xffffffff);
    EXPECT_TRUE(has_arrived(line, 0xffffffff));
    EXPECT_EQ(unpack<Sized<payload_bytes>>(line), filled<payload_bytes>());
}

TEST(LineTest, tagIsTheLowHalfOfTheSequenceNumber) {
    EXPECT_EQ(tag_of(1), 1U);
    EXPECT_EQ(tag_of((Sequence{7} << 32) - 1), 0xffffffffU);
    EXPECT_EQ(tag_of((Sequence{7} << 32) + 2), 2U);
}

}  // namespace
}  // namespace carillon
