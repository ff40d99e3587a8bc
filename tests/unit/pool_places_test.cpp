// SPDX-License-Identifier: Apache-2.0
// The requests that blocks take if they share all clients, step by step: two blocks and two places.
#include "carillon/detail/protocol/pool_places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"

namespace carillon::test {
using namespace detail;
namespace {

struct Ask {
    std::uint64_t client;
    std::uint64_t number;
};
struct Told {
    std::uint64_t number;
};

class PoolPlacesTest : public testing::Test {
   protected:
    static constexpr std::uint32_t capacity = 4;
    static constexpr unsigned places = 2;
    static constexpr unsigned blocks = 2;
    using Block = PoolPlaces<Ask, Told, DeviceNear, DeviceFar, PoolSweeps{2, 1}>;

    [[nodiscard]] Block block(unsigned index) { return {table_, places, index}; }
    [[nodiscard]] Block only_block() {
        table_.servers = 1;
        return block(0);
    }

    void lend(unsigned place, Sequence first = 1) {
        format_ring(requests(place, first));
        format_ring(replies(place, first));
        writers_[place].begin({bytes(requests_[place].data()), bytes(replies_[place].data()), 1,
                               ChannelShape{capacity}, first, nullptr, false});
        news_.tell();
    }
    void take_back(unsigned place) {
        writers_[place].end();
        news_.tell();
    }
    [[nodiscard]] bool over(unsigned place) const { return writers_[place].over(); }

    void send(unsigned place, Sequence number) {
        *requests(place).slot(number) = pack(Ask{place, number}, tag_of(number));
    }
    [[nodiscard]] Line& line_of(unsigned place, Sequence number) {
        return *requests(place).slot(number);
    }
    // The request that a block takes: its place and its number.
    using Taken = std::optional<std::pair<std::uint64_t, std::uint64_t>>;
    static Taken take(Block& block) {
        PoolRequest<Ask> taken;
        if (!block.try_take(taken)) return {};
        Ask const ask = unpack<Ask>(taken.message);
        block.answer(taken, pack(Told{ask.number}, 0), OutOfLine::none);
        return std::pair(ask.client, ask.number);
    }
    static Taken request(unsigned place, Sequence number) { return std::pair(place, number); }
    [[nodiscard]] Sequence claimed(unsigned place) const { return claims_[place].taken; }
    [[nodiscard]] bool answered(unsigned place, Sequence number) {
        Packed<Told> told;
        return detail::load_message<Told>(HostCached(), replies(place).slot(number), tag_of(number),
                                          told) &&
               unpack<Told>(told).number == number;
    }

   private:
    [[nodiscard]] RingView requests(unsigned place, Sequence first = 1) {
        return {requests_[place].data(), &unused_, capacity, first};
    }
    [[nodiscard]] RingView replies(unsigned place, Sequence first = 1) {
        return {replies_[place].data(), &unused_, capacity, first};
    }
    static std::byte* bytes(Line* lines) { return reinterpret_cast<std::byte*>(lines); }

    std::array<std::array<Line, capacity>, places> requests_{};
    std::array<std::array<Line, capacity>, places> replies_{};
    std::array<LeaseLine, places + 1> lines_{};
    std::array<LeaseStatus, places * blocks> status_{};
    std::array<LeaseClaim, places> claims_{};
    std::uint64_t unused_ = 0;
    LeaseTable table_{lines_.data(), status_.data(),         ChannelShape{capacity},
                      blocks,        &lines_[places].number, claims_.data()};
    using Writer = LeaseWriter<HostCached, HostMapped>;
    std::array<Writer, places> writers_{Writer(table_, 0, HostCached(), HostMapped()),
                                        Writer(table_, 1, HostCached(), HostMapped())};
    LeaseNewsWriter<HostMapped> news_{table_.news, HostMapped()};
};

TEST_F(PoolPlacesTest, eachRequestIsTakenByOneBlock) {
    lend(0);
    Block first = block(0);
    Block second = block(1);
    EXPECT_EQ(take(first), Taken());
    EXPECT_EQ(take(second), Taken());
    send(0, 1);
    EXPECT_EQ(take(second), request(0, 1));
    EXPECT_EQ(take(first), Taken());
    EXPECT_TRUE(answered(0, 1));
    send(0, 2);
    send(0, 3);
    EXPECT_EQ(take(first), request(0, 2));
    EXPECT_EQ(take(first), request(0, 3));
    EXPECT_EQ(take(second), Taken());
    EXPECT_TRUE(answered(0, 2) && answered(0, 3));
}

// Otherwise it would look for ever for the request that it has awaited.
TEST_F(PoolPlacesTest, blockThatOthersHaveLeftBehindGoesOnWithThem) {
    for (Sequence const start : {Sequence{1}, (Sequence{1} << 32) - 3}) {
        lend(0, start);
        Block late = block(0);
        EXPECT_EQ(take(late), Taken());
        Block other = block(1);
        for (Sequence number = start; number != start + 2 * capacity + 1; ++number) {
            send(0, number);
            EXPECT_EQ(take(other), request(0, number));
        }
        EXPECT_EQ(take(late), Taken()) << "it sees where the others are";
        send(0, start + 2 * capacity + 1);
        EXPECT_EQ(take(late), request(0, start + 2 * capacity + 1));
        take_back(0);
        EXPECT_EQ(take(late), Taken());
        EXPECT_EQ(take(other), Taken());
        ASSERT_TRUE(over(0));
    }
}

TEST_F(PoolPlacesTest, oneThatBeginsLaterBeginsWhereTheOthersAre) {
    lend(0);
    Block other = block(1);
    send(0, 1);
    EXPECT_EQ(take(other), request(0, 1));
    send(0, 2);
    Block late = block(0);
    EXPECT_EQ(take(late), request(0, 2));
}

// Each block of several claims what it serves.
TEST_F(PoolPlacesTest, blockThatIsAloneSparesTheClaim) {
    lend(0);
    send(0, 1);
    Block one = block(0);
    EXPECT_EQ(take(one), request(0, 1));
    EXPECT_EQ(claimed(0), 1U);
    lend(1);
    Block alone = only_block();
    for (Sequence number = 1; number <= 2 * capacity + 1; ++number) {
        send(1, number);
        EXPECT_EQ(take(alone), request(1, number));
        EXPECT_TRUE(answered(1, number));
    }
    EXPECT_EQ(claimed(1), 0U);
    line_of(1, 2 * capacity + 2) = pack(Ask{1, 7}, tag_of(2 * capacity + 4));
    EXPECT_EQ(take(alone), Taken()) << "no other is ahead of it";
    send(1, 2 * capacity + 2);
    EXPECT_EQ(take(alone), request(1, 2 * capacity + 2));
}

TEST_F(PoolPlacesTest, clientsHaveTheirTurns) {
    lend(0);
    lend(1);
    for (Sequence number = 1; number <= 3; ++number) {
        send(0, number);
        send(1, number);
    }
    Block one = block(0);
    for (Sequence number = 1; number <= 3; ++number) {
        Taken const first = take(one);
        Taken const second = take(one);
        ASSERT_TRUE(first && second);
        EXPECT_NE(first->first, second->first) << "one of each";
        EXPECT_EQ(first->second, number);
        EXPECT_EQ(second->second, number);
    }
}

TEST_F(PoolPlacesTest, nothingIsTakenOfAMessageThatIsHalfThere) {
    lend(0);
    Block one = block(0);
    Line const whole = pack(Ask{0, 1}, tag_of(1));
    line_of(0, 1).quads[0] = whole.quads[0];
    EXPECT_EQ(take(one), Taken());
    line_of(0, 1).quads[1] = whole.quads[1];
    EXPECT_EQ(take(one), request(0, 1));
}

// A client may write any tags: all that it writes is served, and no block waits for it.
TEST_F(PoolPlacesTest, tagsFarAheadAreNoRequest) {
    lend(0);
    lend(1);
    Block one = block(0);
    line_of(0, 1) = with_tag(Line{}, 1000);
    send(1, 1);
    EXPECT_EQ(take(one), request(1, 1));
    EXPECT_EQ(take(one), Taken());
    send(0, 1);
    EXPECT_EQ(take(one), request(0, 1));
}

TEST_F(PoolPlacesTest, memoryThatWasTakenBackIsLookedAtNoMore) {
    lend(0);
    lend(1);
    Block first = block(0);
    Block second = block(1);
    EXPECT_EQ(take(first), Taken());
    EXPECT_EQ(take(second), Taken());
    take_back(0);
    EXPECT_FALSE(over(0));
    EXPECT_EQ(take(first), Taken());
    EXPECT_FALSE(over(0)) << "the other may be there still";
    EXPECT_EQ(take(second), Taken());
    EXPECT_TRUE(over(0));
    send(0, 1);
    send(1, 1);
    EXPECT_EQ(take(first), request(1, 1));
    EXPECT_EQ(take(first), Taken());
    EXPECT_EQ(take(second), Taken());
}

}  // namespace
}  // namespace carillon::test
