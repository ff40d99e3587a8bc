// SPDX-License-Identifier: Apache-2.0
// Clients of a pool whose threads end in the middle of a call: the step decides whether a reply
// will come. The test plays the kernel.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "carillon/detail/host/pool_state.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Asked = AddressedRequest<std::int64_t>;  // more than a quad
using SlotClaim = ReplySlotClaim<HostCached, true>;

class DeadClientTest : public testing::Test {
   protected:
    static constexpr std::uint32_t replies = 4;

    // Runs the steps on a thread that then ends without releasing its end, as a client that dies.
    void die(std::function<void(HostMpmcProducer<Asked>&)> const& last_steps) {
        std::thread([&] {
            dead_ = std::make_unique<HostMpmcProducer<Asked>>(
                detail::MpmcProducerAccess::make<Asked>(pool_.ring()));
            last_steps(*dead_);
        }).join();
    }
    // The steps of a client that sends, one by one.
    SlotClaim claim_slot(HostMpmcProducer<Asked> const& end) {
        std::uint32_t const slot = pool_.first_slot(end.index());
        SlotClaim claim(pool_.host_reply_slots(), slot);
        pool_.record(end.index()).claimed_before = end.record().end;
        pool_.record(end.index()).sends_at = slot + 1;
        EXPECT_TRUE(claim.try_claim_own());
        return claim;
    }
    Sequence claim_number(HostMpmcProducer<Asked> const& end) {
        Claimer claimer(pool_.ring()->memory.host_view(), HostCached(), ClaimRecord(&end.record()));
        return claimer.try_claim(1, 1).first;
    }
    Line& slot(Sequence number) {
        MpmcRingView const ring = pool_.ring()->memory.host_view();
        return ring.base[ring.index(number)];
    }
    // How many slots of its own a next client finds free.
    std::uint32_t free_slots() {
        std::uint32_t free = 0;
        auto const next = detail::MpmcProducerAccess::make<Asked>(pool_.ring());
        for (std::uint32_t i = 0; i < replies; ++i) {
            SlotClaim claim(pool_.host_reply_slots(), pool_.first_slot(next.index()) + i);
            if (!claim.try_claim_own()) continue;
            claim.take_back();
            ++free;
        }
        return free;
    }
    // Answers the requests in the ring; skips numbers that were given up.
    unsigned serve() {
        unsigned served = 0;
        ReplyWriter<DeviceFar> const writer(pool_.device_reply_slots());
        for (int i = 0; i < 1000; ++i) {
            (void)kernel_.poll([&](Asked const& asked, Sequence /*number*/) {
                writer.answer(asked.reply_to, 1);
                ++served;
            });
        }
        return served;
    }

    Device device_ = Device::open("emulated");
    detail::PoolState pool_{device_,
                            {.capacity = 8, .pool = {.clients = 1, .replies = replies}},
                            1,
                            shape_of<Asked>(),
                            shape_of<std::uint32_t>()};
    MpmcConsumer<Asked, DeviceNear, DeviceFar, OneThread> kernel_{
        pool_.ring()->memory.device_view()};
    std::unique_ptr<HostMpmcProducer<Asked>> dead_;
};

TEST_F(DeadClientTest, betweenRequestsItLeavesAllItsSlots) {
    die([](auto&) {});
    EXPECT_EQ(free_slots(), replies);
}

TEST_F(DeadClientTest, requestThatWasSentHoldsItsSlotUntilTheReply) {
    die([&](auto& end) {
        EXPECT_TRUE(end.try_push({claim_slot(end).address(), 7}));
        pool_.record(end.index()).sends_at = 0;
    });
    EXPECT_EQ(free_slots(), replies - 1);
    EXPECT_FALSE(pool_.all_answered());
    EXPECT_EQ(serve(), 1U);
    EXPECT_TRUE(pool_.all_answered());
    EXPECT_EQ(free_slots(), replies);
}

// Catches a slot that is free too early: the late reply would be taken for the next one's.
TEST_F(DeadClientTest, requestThatWasSentButNotNotedIsAnswered) {
    die([&](auto& end) { EXPECT_TRUE(end.try_push({claim_slot(end).address(), 7})); });
    EXPECT_EQ(free_slots(), replies - 1);
    EXPECT_EQ(serve(), 1U);
    EXPECT_EQ(free_slots(), replies);
}

// Catches a slot that waits for ever for the reply to a request that was never sent.
TEST_F(DeadClientTest, slotWithoutARequestIsFree) {
    die([&](auto& end) { (void)claim_slot(end); });
    EXPECT_FALSE(pool_.all_answered());
    pool_.recover();
    EXPECT_TRUE(pool_.all_answered());
    EXPECT_EQ(free_slots(), replies);
}

TEST_F(DeadClientTest, slotOfAClaimThatMayHaveFailedIsFree) {
    die([&](auto& end) {
        (void)claim_slot(end);
        ClaimRecord(&end.record()).claiming(HostCached());
    });
    EXPECT_EQ(free_slots(), replies);
    EXPECT_TRUE(pool_.all_answered());
}

TEST_F(DeadClientTest, slotOfALineThatWasNotWrittenIsFree) {
    die([&](auto& end) {
        (void)claim_slot(end);
        (void)claim_number(end);
    });
    EXPECT_EQ(free_slots(), replies);
    EXPECT_EQ(serve(), 0U);
    EXPECT_TRUE(pool_.all_answered());
}

TEST_F(DeadClientTest, slotOfALineThatWasWrittenHalfIsFree) {
    die([&](auto& end) {
        Asked const asked{claim_slot(end).address(), 7};
        Sequence const number = claim_number(end);
        slot(number).quads[0] = pack(asked, tag_of(number)).quads[0];
    });
    EXPECT_EQ(free_slots(), replies);
    EXPECT_EQ(serve(), 0U);
}

TEST_F(DeadClientTest, slotOfALineThatWasWrittenHoldsUntilTheReply) {
    die([&](auto& end) {
        Asked const asked{claim_slot(end).address(), 7};
        Sequence const number = claim_number(end);
        slot(number) = pack(asked, tag_of(number));
    });
    EXPECT_EQ(free_slots(), replies - 1);
    EXPECT_EQ(serve(), 1U);
    EXPECT_EQ(free_slots(), replies);
}

// Its owner counts as dead, and another thread releases its object afterwards.
TEST_F(DeadClientTest, whatIsLetGoAfterItsThreadDiedIsLetGoOnce) {
    std::optional<SlotClaim> left;
    die([&](auto& end) {
        left = claim_slot(end);
        EXPECT_TRUE(end.try_push({left->address(), 7}));
    });
    pool_.recover();
    left->give_up();
    EXPECT_EQ(serve(), 1U);
    EXPECT_TRUE(pool_.all_answered());
    EXPECT_EQ(free_slots(), replies);
}

// Others went on, and the ring has made a lap since: the line that was whole is another's by now.
TEST_F(DeadClientTest, lineThatWasTakenAndWrittenOverWasWritten) {
    auto const view = pool_.ring()->memory.host_view();
    slot(3) = pack(Asked{}, tag_of(3 + view.capacity));
    EXPECT_TRUE(was_written(view, 3, HostCached()));
    EXPECT_TRUE(was_written(view, 3 + view.capacity, HostCached()));
    EXPECT_FALSE(was_written(view, 3 + 2 * view.capacity, HostCached()));
}

}  // namespace
}  // namespace carillon::test
