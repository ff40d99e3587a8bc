// SPDX-License-Identifier: Apache-2.0
// To whom which memory is lent. The block is played by the test.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>

#include "carillon/carillon.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/host/leases.hpp"
#include "ipc/handlers.hpp"

namespace carillon::test {
namespace {

using detail::Leases;

class LeasesTest : public testing::Test {
   protected:
    static constexpr unsigned blocks = 2;

    [[nodiscard]] std::optional<Leases::Lent> begin(
        std::uint32_t user, ChannelSharing sharing = ChannelSharing::exported) {
        return leases_.begin(user, sharing);
    }
    // Its block leaves at once.
    void end(Leases::Lent const& lent) {
        leases_.end(lent.place);
        leave(lent.place);
    }
    void leave(unsigned block) {
        LeaseReader<HostCached, HostMapped> const reader(leases_.device_view(), block);
        reader.report_free(reader.number());
    }
    [[nodiscard]] Leases& leases() { return leases_; }

   private:
    Device device_ = Device::open("emulated");
    Leases leases_{device_,
                   {.blocks = blocks},
                   ChannelShape::of<Ask, Told>(4),
                   detail::MessageTypes::of<detail::OneRequest<Ask, Told>>()};
};

TEST_F(LeasesTest, memoryThatAUserHasHadIsNeverAnothers) {
    std::set<ChannelMemory const*> of_first;
    for (unsigned i = 0; i < 5; ++i) {
        auto const one = begin(1);
        auto const two = begin(1);
        ASSERT_TRUE(one && two);
        of_first.insert({one->memory.get(), two->memory.get()});
        end(*one);
        end(*two);
    }
    EXPECT_EQ(of_first.size(), blocks) << "what it has had is used again";
    for (unsigned i = 0; i < 5; ++i) {
        auto const another = begin(2);
        ASSERT_TRUE(another);
        EXPECT_FALSE(of_first.contains(another->memory.get()));
        end(*another);
    }
    auto const again = begin(1);
    ASSERT_TRUE(again);
    EXPECT_TRUE(of_first.contains(again->memory.get()));
}

TEST_F(LeasesTest, memoryThatItsBlockHasNotLeftIsNobodys) {
    auto const first = begin(1);
    ASSERT_TRUE(first);
    leases().end(first->place);
    EXPECT_TRUE(leases().any_ends());
    EXPECT_FALSE(leases().all_drained());
    auto const second = begin(1);
    ASSERT_TRUE(second);
    EXPECT_NE(second->place, first->place);
    EXPECT_NE(second->memory, first->memory);
    EXPECT_FALSE(begin(1));
    leave(first->place);
    auto const third = begin(1);
    ASSERT_TRUE(third);
    EXPECT_EQ(third->place, first->place);
    EXPECT_EQ(third->memory, first->memory);
}

TEST_F(LeasesTest, numbersOfTheSameMemoryGoOn) {
    constexpr Sequence longest_ring = 1U << 20U;
    Sequence next = 1;
    for (unsigned i = 0; i < 5; ++i) {
        auto const lent = begin(1);
        ASSERT_TRUE(lent);
        EXPECT_GE(lent->memory->host_view().first, next);
        next = lent->memory->host_view().first + longest_ring;
        end(*lent);
    }
}

// Each user's memory stays its own: so not for ever so many of them.
TEST_F(LeasesTest, thereIsABoundToMemoryOfUsers) {
    unsigned users = 0;
    while (users < 100) {
        auto const lent = begin(users);
        if (!lent) break;
        end(*lent);
        ++users;
    }
    EXPECT_EQ(users, 4 * blocks);
    EXPECT_EQ(leases().memories(), 4 * blocks);
    EXPECT_TRUE(begin(0)) << "who has had some has it still";
}

TEST_F(LeasesTest, memoryOfAnotherKindIsMadeWhenItIsAskedFor) {
    auto const host = begin(1, ChannelSharing::exported_from_host);
    ASSERT_TRUE(host);
    EXPECT_EQ(host->memory->sharing(), ChannelSharing::exported_from_host);
    EXPECT_EQ(leases().count(), 1U);
    end(*host);
    EXPECT_EQ(leases().count(), 0U);
    EXPECT_TRUE(leases().all_drained());
}

}  // namespace
}  // namespace carillon::test
