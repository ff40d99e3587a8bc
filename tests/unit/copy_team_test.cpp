// SPDX-License-Identifier: Apache-2.0
// Copies by several threads together are whole and in place, whichever threads help.
#include "device/copy_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/asleep.hpp"
#include "support/eventually.hpp"
#include "support/noise.hpp"

namespace carillon::test {
namespace {

using detail::CopyTeam;

constexpr unsigned team_threads = 3;
constexpr std::size_t shared_bytes = CopyTeam::least_bytes;
constexpr std::byte around{0x5a};
constexpr std::size_t guard_bytes = 64;

using Way = void (CopyTeam::*)(std::byte*, std::byte const*, std::size_t) noexcept;

// Whether a copy of `from` is whole, and nothing beside it is written.
bool copies(CopyTeam& team, Way way, std::span<std::byte const> from) {
    std::vector<std::byte> to(from.size() + 2 * guard_bytes, around);
    (team.*way)(to.data() + guard_bytes, from.data(), from.size());
    auto const begin = to.begin() + guard_bytes;
    auto const is_around = [](std::byte each) { return each == around; };
    return std::all_of(to.begin(), begin, is_around) &&
           std::equal(from.begin(), from.end(), begin) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(from.size()), to.end(), is_around);
}

constexpr std::array<std::size_t, 8> sizes{1,
                                           100,
                                           shared_bytes - 1,
                                           shared_bytes,
                                           shared_bytes + 1,
                                           shared_bytes + 4095,
                                           4 * shared_bytes,
                                           std::size_t{1000} * 1000};

class CopyTeamTest : public testing::TestWithParam<Way> {};

TEST_P(CopyTeamTest, copiesEverySizeFromEveryPlaceInALine) {
    auto const team = CopyTeam::make_of_all(team_threads);
    auto const bytes = noise(sizes.back() + 64, 1);
    for (std::size_t const size : sizes) {
        for (std::size_t const offset : {0, 1, 17, 63}) {
            EXPECT_TRUE(copies(*team, GetParam(), std::span(bytes).subspan(offset, size)))
                << size << " from " << offset;
        }
    }
}

TEST_P(CopyTeamTest, callersThatComeTogetherHaveTheirOwnBytes) {
    auto const team = CopyTeam::make_of_all(team_threads);
    std::vector<std::jthread> callers;
    std::array<int, 3> wrong{};
    for (std::size_t caller = 0; caller < wrong.size(); ++caller) {
        callers.emplace_back([&, caller] {
            auto bytes = noise(2 * shared_bytes, 2);
            for (int i = 0; i < 40; ++i) {
                std::ranges::fill(std::span(bytes).first(100),
                                  static_cast<std::byte>(40 * caller + i));
                if (!copies(*team, GetParam(), bytes)) ++wrong.at(caller);
            }
        });
    }
    callers.clear();
    EXPECT_EQ(wrong, (std::array<int, 3>{}));
}

TEST_P(CopyTeamTest, oneThatIsAloneCopiesToo) {
    auto const team = CopyTeam::make_of_all(0);
    team->expect(shared_bytes);
    EXPECT_TRUE(copies(*team, GetParam(), noise(shared_bytes, 3)));
}

TEST_P(CopyTeamTest, helpersThatSleepAreWoken) {
    auto const team = CopyTeam::make_of_all(team_threads);
    auto const bytes = noise(shared_bytes, 4);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(copies(*team, GetParam(), bytes));
        EXPECT_TRUE(eventually(all_others_sleep));
    }
}

INSTANTIATE_TEST_SUITE_P(Of, CopyTeamTest, testing::Values(&CopyTeam::store, &CopyTeam::load),
                         [](auto const& way) {
                             return std::string(way.param == Way(&CopyTeam::store) ? "stores"
                                                                                   : "loads");
                         });

// A team may go whether helpers were asked or not, and while they look for work.
TEST(CopyTeamEndTest, aTeamGoesAtAnyTime) {
    for (int i = 0; i < 20; ++i) {
        auto const team = CopyTeam::make_of_all(team_threads);
        if (i % 2 == 0) team->expect(shared_bytes);
        if (i % 4 == 0) std::this_thread::sleep_for(CopyTeam::awake);
    }
}

}  // namespace
}  // namespace carillon::test
