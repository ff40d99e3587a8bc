// SPDX-License-Identifier: Apache-2.0
// Which client gets which memory. The test plays the block.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>

#include "carillon/carillon.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "ipc/ipc_handlers.hpp"
#include "support/descriptors_left.hpp"
#include "support/held_resources.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using detail::Lender;

class LeasesTest : public testing::Test {
   protected:
    static constexpr unsigned blocks = 2;

    [[nodiscard]] std::optional<Lender::Lent> begin(
        std::uint32_t user, ChannelSharing sharing = ChannelSharing::exported) {
        return leases_.begin(user, sharing);
    }
    // Ends the lease; its block leaves at once.
    void end(Lender::Lent const& lent) {
        leases_.end(lent.place);
        leave(lent.place);
    }
    void leave(unsigned block) {
        LeaseReader<HostCached, HostMapped> const reader(leases_.device_view(), block);
        reader.report_free(reader.number());
    }
    [[nodiscard]] Lender& leases() { return leases_; }

   private:
    Device device_ = Device::open("emulated");
    Lender leases_{device_,
                   {.blocks = blocks},
                   ChannelShape::of<Ask, Told>(4),
                   detail::MessageTypes::of<detail::OneRequest<Ask, Told>>()};
};

TEST_F(LeasesTest, memoryThatAUserHasHadIsNeverAnothers) {
    std::set<detail::LentMemory const*> of_first;
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

// This holds whatever the client counts.
TEST_F(LeasesTest, numbersOfTheSameMemoryGoOnBehindThoseThatItsClientHasUsed) {
    constexpr Sequence longest_ring = 1U << 20U;
    for (std::uint64_t const used : {std::uint64_t{0}, std::uint64_t{3} << 21U,
                                     (std::uint64_t{1} << 33U) + 5, ~std::uint64_t{0}}) {
        auto const lent = begin(1);
        ASSERT_TRUE(lent);
        Sequence const last = lent->memory->host_view().first - 1 + used;
        CounterWords::store(lent->memory->host_view().counters(0)->submitted, last);
        end(*lent);
        auto const next = begin(1);
        ASSERT_TRUE(next);
        ASSERT_EQ(next->memory, lent->memory);
        // A late store of the client before has no tag of any of the next messages.
        EXPECT_GE(tag_of(next->memory->host_view().first) - tag_of(last), longest_ring) << used;
        end(*next);
    }
}

// Each user's memory stays its own, so memory that users have left is freed for others.
TEST_F(LeasesTest, usersThatHaveGoneLockNobodyOutAndThereIsABoundToTheirMemory) {
    for (unsigned user = 0; user < 100; ++user) {
        bool const in_host = user % 3 == 0;
        auto const lent =
            begin(user, in_host ? ChannelSharing::exported_from_host : ChannelSharing::exported);
        ASSERT_TRUE(lent) << user;
        end(*lent);
    }
    EXPECT_EQ(leases().memories(), 4 * blocks);
}

TEST_F(LeasesTest, noMemoryIsKeptForUsersThatHaveGoneWhereDescriptorsAreFew) {
    for (auto const& [limit, open] : {std::pair(128, 32), std::pair(128, 96)}) {
        DescriptorsOpen const few(static_cast<rlim_t>(limit), open);
        for (unsigned user = 0; user < 10; ++user) {
            auto const lent = begin(user);
            ASSERT_TRUE(lent) << user;
            end(*lent);
        }
        EXPECT_EQ(leases().memories(), blocks);
    }
    DescriptorsLeft const none(::getpid(), 0);
    auto const lent = begin(1000);
    ASSERT_TRUE(lent);
    end(*lent);
}

TEST_F(LeasesTest, memoryThatAClientHasIsNotFreedForOthers) {
    auto const kept = begin(1000);
    ASSERT_TRUE(kept);
    auto* const word = static_cast<std::uint64_t volatile*>(kept->memory->host.host_ptr());
    Held const before = Held::now();
    for (unsigned user = 0; user < 100; ++user) {
        auto const lent = begin(user);
        ASSERT_TRUE(lent) << user;
        EXPECT_NE(lent->memory, kept->memory);
        end(*lent);
    }
    *word = 7;  // its pages are there
    EXPECT_EQ(leases().memories(), 4 * blocks);
    EXPECT_LE(Held::now().descriptors, before.descriptors + 4 * 2 * blocks)
        << "what is freed is not kept until the kernel ends";
}

// The device's end is played by the test, and leaves at once.
TEST(SharedObjectMemoryTest, usersThatHaveGoneLockNobodyOut) {
    Device const device = Device::open("emulated");
    ObjectShape const shape{.capacity = 2};
    detail::Lender object(device, ObjectKind::mailbox, shape, detail::message_type<Ask>(1), 1, 1);
    LeaseReader<HostCached, HostMapped> const reader(object.take("test", 0, {}), 0);
    for (unsigned user = 0; user < 100; ++user) {
        ASSERT_TRUE(object.begin(user, ChannelSharing::exported)) << user;
        object.end(0);
        reader.report_free(reader.number());
    }
}

TEST_F(LeasesTest, memoryOfAnotherKindIsMadeWhenItIsAskedFor) {
    auto const host = begin(1, ChannelSharing::exported_from_host);
    ASSERT_TRUE(host);
    EXPECT_EQ(host->memory->sharing, ChannelSharing::exported_from_host);
    EXPECT_EQ(leases().count(), 1U);
    end(*host);
    EXPECT_EQ(leases().count(), 0U);
    EXPECT_TRUE(leases().all_drained());
}

}  // namespace
}  // namespace carillon::test
