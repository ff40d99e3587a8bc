// SPDX-License-Identifier: Apache-2.0
#include "carillon/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/device_info.hpp"
#include "carillon/error.hpp"
#include "device/backend.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

class ArenaTest : public testing::Test {
   protected:
    Device device_ = Device::open("emulated");
    Arena arena_{device_, 65536};
};

TEST_F(ArenaTest, pieceHasTheSameBytesOnBothSides) {
    ArenaPiece const first = arena_.allocate(1000);
    ArenaPiece const second = arena_.allocate(1000);
    EXPECT_EQ(second.size(), 1000U);
    EXPECT_EQ(second.offset(), 1024U);
    EXPECT_EQ(static_cast<std::byte*>(second.host_ptr()) - second.offset(), first.host_ptr());
    std::memcpy(second.host_ptr(), "through the arena", 18);
    EXPECT_STREQ(static_cast<char const*>(second.device_ptr()), "through the arena");
}

TEST_F(ArenaTest, piecesAreAlignedAndShareNoLine) {
    ArenaPiece const byte = arena_.allocate(1, 1);
    ArenaPiece const next = arena_.allocate(1, 1);
    EXPECT_EQ(next.offset(), 64U);
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        ArenaPiece const piece = arena_.allocate(10, alignment);
        EXPECT_EQ(piece.offset() % alignment, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.host_ptr()) % alignment, 0U);
    }
    EXPECT_EQ(arena_.used(), 128U);
}

// Catches a gap that is not joined with those on both sides of it.
TEST_F(ArenaTest, piecesGivenBackInAnyOrderBecomeOneGap) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::vector<ArenaPiece> pieces;
        for (int i = 0; i < 16; ++i) pieces.push_back(arena_.allocate(4096));
        EXPECT_EQ(arena_.used(), 65536U);
        EXPECT_EQ(arena_.largest_free(), 0U);
        std::shuffle(pieces.begin(), pieces.end(), std::minstd_rand(seed));
        while (!pieces.empty()) pieces.pop_back();
        EXPECT_EQ(arena_.used(), 0U);
        EXPECT_EQ(arena_.largest_free(), 65536U);
    }
}

TEST_F(ArenaTest, gapBetweenPiecesIsUsedAgain) {
    ArenaPiece first = arena_.allocate(4096);
    ArenaPiece const second = arena_.allocate(4096);
    std::size_t const where = first.offset();
    first = ArenaPiece();
    EXPECT_EQ(arena_.used(), 4096U);
    ArenaPiece const large = arena_.allocate(8192);
    EXPECT_GT(large.offset(), second.offset());
    ArenaPiece const again = arena_.allocate(4096);
    EXPECT_EQ(again.offset(), where);
}

TEST_F(ArenaTest, refusesWhatDoesNotFitWithTheNumbersAndChangesNothing) {
    ArenaPiece const half = arena_.allocate(32768);
    ArenaPiece quarter = arena_.allocate(16384);
    ArenaPiece const rest = arena_.allocate(16384);
    quarter = ArenaPiece();
    CARILLON_EXPECT_ERROR(
        arena_.allocate(16385), OutOfMemoryError,
        "Arena::allocate: 16385 bytes requested, aligned to 256: 16384 of 65536 are free, "
        "at most 16384 contiguous");
    CARILLON_EXPECT_ERROR(arena_.allocate(std::numeric_limits<std::size_t>::max()),
                          OutOfMemoryError, "Arena::allocate");
    EXPECT_EQ(arena_.used(), 49152U);
    EXPECT_EQ(arena_.largest_free(), 16384U);
    EXPECT_EQ(arena_.allocate(16384).size(), 16384U);
}

TEST_F(ArenaTest, refusesWhatMakesNoSense) {
    CARILLON_EXPECT_ERROR(arena_.allocate(0), UsageError, "Arena::allocate: 0 bytes");
    CARILLON_EXPECT_ERROR(arena_.allocate(1, 0), UsageError, "alignment of 0");
    CARILLON_EXPECT_ERROR(arena_.allocate(1, 48), UsageError, "alignment of 48");
    CARILLON_EXPECT_ERROR(arena_.allocate(1, 8192), UsageError, "alignment of 8192");
    EXPECT_THROW(Arena(device_, 0), UsageError);
}

TEST_F(ArenaTest, movedFromPieceGivesNothingBack) {
    ArenaPiece first = arena_.allocate(256);
    ArenaPiece second = std::move(first);
    EXPECT_EQ(arena_.used(), 256U);
    EXPECT_EQ(first.host_ptr(), nullptr);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first.device_ptr(), nullptr);
    EXPECT_EQ(first.size(), 0U);
    first = std::move(second);
    EXPECT_EQ(arena_.used(), 256U);
    first = ArenaPiece();
    EXPECT_EQ(arena_.used(), 0U);
}

// Catches memory that goes with the arena while a piece of it is in use.
TEST_F(ArenaTest, pieceOutlivesItsArena) {
    ArenaPiece piece;
    {
        Arena const arena(device_, 4096);
        piece = arena.allocate(100);
    }
    std::memcpy(piece.host_ptr(), "still here", 11);
    EXPECT_STREQ(static_cast<char const*>(piece.device_ptr()), "still here");
}

TEST_F(ArenaTest, threadsShareIt) {
    auto const use = [&](unsigned char mark) {
        for (int i = 0; i < 200; ++i) {
            ArenaPiece const piece = arena_.allocate(64 + 64 * static_cast<std::size_t>(i % 7));
            std::memset(piece.host_ptr(), mark, piece.size());
            std::this_thread::yield();
            auto const* const bytes = static_cast<unsigned char const*>(piece.host_ptr());
            for (std::size_t n = 0; n < piece.size(); ++n) ASSERT_EQ(bytes[n], mark);
        }
    };
    std::thread other(use, 1);
    use(2);
    other.join();
    EXPECT_EQ(arena_.used(), 0U);
    EXPECT_EQ(arena_.largest_free(), arena_.capacity());
}

class ArenaBudgetTest : public testing::Test {
   protected:
    ArenaBudgetTest() {
        info_.heaps.resize(2);
        info_.heaps.at(0).size = 1000;
        info_.heaps.at(1).size = 900;
        info_.heaps.at(1).budget = 800;
        info_.memory_types = {{{}, 0}, {{}, 1}};
        info_.memory_type = 1;
    }
    void require(std::size_t size) const { detail::require_budget(info_, size); }

    DeviceInfo info_;
};

TEST_F(ArenaBudgetTest, budgetIsTheLimitWhereItIsKnown) {
    require(800);
    CARILLON_EXPECT_ERROR(require(801), OutOfMemoryError,
                          "801 bytes requested, but the heap has 900 (budget 800, BAR unknown)");
    info_.heaps.at(1).budget.reset();
    require(900);
    CARILLON_EXPECT_ERROR(require(901), OutOfMemoryError, "budget unknown");
}

// A GPU whose BAR is smaller than its memory.
TEST_F(ArenaBudgetTest, barIsTheLimitWhereItIsSmaller) {
    info_.bar_size = 256;
    require(256);
    CARILLON_EXPECT_ERROR(require(257), OutOfMemoryError,
                          "but the heap has 900 (budget 800, BAR 256)");
}

TEST_F(ArenaBudgetTest, withoutHeapsTheAllocationDecides) {
    info_.memory_type = -1;
    require(std::numeric_limits<std::size_t>::max());
    EXPECT_THROW(Arena(Device::open("emulated"), std::numeric_limits<std::size_t>::max()),
                 OutOfMemoryError);
    EXPECT_THROW(Arena(Device::open("emulated"), std::size_t{1} << 50), OutOfMemoryError);
}

}  // namespace
}  // namespace carillon::test
