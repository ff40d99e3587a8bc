// SPDX-License-Identifier: Apache-2.0
// A call from the device to the host, step by step, in ordinary memory.
#include "carillon/detail/protocol/host_call.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class ReplySlotsMemory {
   public:
    explicit ReplySlotsMemory(std::uint32_t count, Sequence first = 1, MessageShape shape = {})
        : lines_(std::size_t{count} * shape.slot_lines),
          words_(count),
          view_{lines_.data(), words_.data(), &next_, count, shape} {
        format_reply_slots(view_, first);
    }
    ReplySlotsMemory(ReplySlotsMemory const&) = delete;
    ReplySlotsMemory& operator=(ReplySlotsMemory const&) = delete;

    [[nodiscard]] ReplySlots const& view() const { return view_; }
    [[nodiscard]] std::uint64_t word(std::size_t slot) const { return words_.at(slot); }

   private:
    std::vector<Line> lines_;
    std::vector<std::uint64_t> words_;
    std::uint64_t next_ = 0;
    ReplySlots view_;
};

using HostClaim = ReplySlotClaim<DeviceNear>;
using SlotWriter = HostReplyWriter<HostMapped>;

HostMapped host_far(PublishMode mode = PublishMode::one_step) {
    return HostMapped({StoreKind::cached, mode});
}

bool reply_is(HostClaim const& claim, std::uint64_t value) {
    Line line;
    using Answer = HostReply<std::uint64_t>;
    return claim.look<Answer>(line) && unpack<Answer>(line).value == value;
}

TEST(ReplySlotClaimTest, zeroedMemoryIsFreeSlotsAndEveryCallerBeginsAtAnother) {
    std::vector<Line> lines(3);
    std::vector<std::uint64_t> words(4);
    ReplySlots const slots{lines.data(), words.data(), &words[3], 3};
    std::vector<HostClaim> claims(3, HostClaim(slots));
    std::uint32_t slot = 0;
    for (HostClaim& claim : claims) {
        ASSERT_TRUE(claim.try_claim());
        EXPECT_EQ(claim.address().slot, slot++);
        EXPECT_EQ(claim.address().number, 1U);
    }
    HostClaim one_more(slots);
    EXPECT_FALSE(one_more.try_claim());
}

TEST(ReplySlotClaimTest, callsAtAPlaceAreNumberedAcrossTheTagsWrap) {
    ReplySlotsMemory memory(1, just_below_the_tags_wrap);
    SlotWriter const writer(memory.view(), host_far(PublishMode::two_step));
    HostClaim claim(memory.view());
    for (Tag number = tag_of(just_below_the_tags_wrap); number != 5; ++number) {
        ASSERT_TRUE(claim.try_claim());
        ASSERT_EQ(claim.address().number, number);
        EXPECT_FALSE(reply_is(claim, number));
        writer.answer(claim.address(), std::uint64_t{number});
        EXPECT_TRUE(reply_is(claim, number));
        claim.give_back();
    }
}

// Catches a slot whose next caller takes the late reply as its own.
TEST(ReplySlotClaimTest, slotThatWasGivenUpIsFreeOnceTheLateReplyIsThere) {
    ReplySlotsMemory memory(1);
    SlotWriter const writer(memory.view(), host_far());
    HostClaim first(memory.view());
    ASSERT_TRUE(first.try_claim());
    ReplyAddress const late = first.address();
    first.give_up();
    HostClaim second(memory.view());
    EXPECT_FALSE(first.try_claim());
    EXPECT_FALSE(second.try_claim());
    writer.answer(late, std::uint64_t{1});
    ASSERT_TRUE(second.try_claim());
    EXPECT_FALSE(first.try_claim());
    EXPECT_EQ(second.address().number, 2U);
    EXPECT_FALSE(reply_is(second, 1));
    writer.answer(second.address(), std::uint64_t{2});
    EXPECT_TRUE(reply_is(second, 2));
}

// Catches a slot that is taken again while lines of its late reply are still under way.
TEST(ReplySlotClaimTest, slotOfALongReplyIsFreeOnceAllOfItsQuadsAreThere) {
    using Reply = SizedWords<104>;
    ReplySlotsMemory memory(1, 1, shape_of<Reply>());
    HostClaim claim(memory.view());
    ASSERT_TRUE(claim.try_claim());
    ReplyAddress const late = claim.address();
    claim.give_up();
    Packed<Reply> const reply = pack(Reply::make(1), late.number);
    Quad* const slot = memory.view().line(0)->quads;
    for (std::size_t quad = 0; quad < quads_of<Reply>; ++quad) {
        EXPECT_FALSE(claim.try_claim()) << quad;
        slot[quad] = lines_in(reply)[quad / quads_per_line].quads[quad % quads_per_line];
    }
    EXPECT_TRUE(claim.try_claim());
}

TEST(ReplySlotClaimTest, callWhoseRequestWasNotSentNeverWas) {
    ReplySlotsMemory memory(1);
    HostClaim claim(memory.view());
    ASSERT_TRUE(claim.try_claim());
    claim.take_back();
    EXPECT_EQ(memory.word(0), 0U);
    ASSERT_TRUE(claim.try_claim());
    EXPECT_EQ(claim.address().number, 1U);
}

// Catches a caller that trusts its old knowledge of its slot.
TEST(ReplySlotClaimTest, slotThatAnotherHasUsedMeanwhileIsLookedAtAgain) {
    ReplySlotsMemory memory(1);
    SlotWriter const writer(memory.view(), host_far());
    HostClaim first(memory.view());
    HostClaim second(memory.view());
    ASSERT_TRUE(first.try_claim());
    writer.answer(first.address(), std::uint64_t{1});
    first.give_back();
    ASSERT_TRUE(second.try_claim());
    EXPECT_FALSE(first.try_claim());
    writer.answer(second.address(), std::uint64_t{2});
    second.give_back();
    ASSERT_TRUE(first.try_claim());
    EXPECT_EQ(first.address().number, 3U);
}

TEST(ReplyWriterTest, answersNobodyWhoIsNotThere) {
    ReplySlotsMemory memory(1);
    SlotWriter const writer(memory.view(), host_far());
    writer.answer({ReplyAddress::nowhere, 1}, std::uint64_t{1});
    writer.fail({1, 1});
    HostClaim claim(memory.view());
    ASSERT_TRUE(claim.try_claim());
    Line line;
    EXPECT_FALSE(claim.look<HostReply<std::uint64_t>>(line));
}

// A poll takes ten nanoseconds, in which `others` may act.
struct PollCountingClock {
    std::uint64_t* now;
    std::function<void()> const* meanwhile;

    [[nodiscard]] std::uint64_t now_ns() const { return *now; }
    void idle(std::uint32_t /*polls*/) const {
        *now += 10;
        if (*meanwhile) (*meanwhile)();
    }
};

TEST(PollDeadlineTest, passesAtOnceWithoutTimeAndSoonAfterTheTimeOtherwise) {
    std::uint64_t now = 12345;
    std::uint64_t polls = 0;
    std::function<void()> const count = [&] { ++polls; };
    PollDeadline<PollCountingClock> none({&now, &count}, 0);
    EXPECT_TRUE(none.passed());
    EXPECT_EQ(polls, 0U);
    PollDeadline<PollCountingClock> deadline({&now, &count}, 1000);
    while (!deadline.passed()) {
    }
    EXPECT_GE(polls, 100U);
    EXPECT_LE(polls, 116U);
}

// Catches a count of polls that wraps, and then the time begins anew: a GPU polls 2^32 times in
// some twenty minutes. A count of 8 bits stands for it, and a time that takes more polls than that.
TEST(PollDeadlineTest, passesThoughTheCountOfPollsWraps) {
    std::uint64_t now = 12345;
    std::uint64_t polls = 0;
    std::function<void()> const count = [&] { ++polls; };
    PollDeadline<PollCountingClock, std::uint8_t> deadline({&now, &count}, 10'000);
    while (!deadline.passed()) {
        ASSERT_LE(polls, 1016U);
    }
    EXPECT_GE(polls, 1000U);
}

// A caller, and a host that serves one request during the wait if the test says so.
class HostCallerTest : public testing::Test {
   protected:
    using Request = AddressedRequest<std::uint64_t>;

    static constexpr std::uint64_t timeout = 1000;
    static constexpr std::uint64_t untouched = 77;

    void serve_once() {
        consumer_.poll([this](Request const& request, Sequence /*number*/) {
            if (request.value == 7) {
                writer_.fail(request.reply_to);
            } else {
                writer_.answer(request.reply_to, 10 * request.value);
            }
        });
    }
    HostCallResult call(std::uint64_t value) {
        reply_ = untouched;
        return caller_.call(value, reply_, timeout);
    }

    MpmcRingSlots requests_{8, 1};
    ReplySlotsMemory slots_{2};
    std::uint64_t now_ = 0;
    std::function<void()> meanwhile_;
    BasicHostCaller<std::uint64_t, std::uint64_t, DeviceFar, DeviceNear, PollCountingClock> caller_{
        requests_.view(), slots_.view(), PollCountingClock{&now_, &meanwhile_}};
    MpmcConsumer<Request, DeviceNear, DeviceFar, OneThread> consumer_{requests_.view()};
    SlotWriter writer_{slots_.view(), host_far()};
    std::uint64_t reply_ = untouched;
};

TEST_F(HostCallerTest, isAnsweredOrToldThatTheFunctionFailed) {
    meanwhile_ = [this] { serve_once(); };
    EXPECT_EQ(call(6), HostCallResult::answered);
    EXPECT_EQ(reply_, 60U);
    EXPECT_EQ(call(7), HostCallResult::failed);
    EXPECT_EQ(reply_, untouched);
    EXPECT_EQ(call(8), HostCallResult::answered);
    EXPECT_EQ(reply_, 80U);
    EXPECT_EQ(slots_.word(0), 6U);  // the same slot for each
}

TEST_F(HostCallerTest, givesUpAtItsDeadlineAndFindsARoomWhenTheLateAnswersAreThere) {
    EXPECT_EQ(call(1), HostCallResult::timed_out);
    EXPECT_EQ(call(2), HostCallResult::timed_out);
    EXPECT_EQ(call(3), HostCallResult::no_room);
    EXPECT_EQ(reply_, untouched);
    meanwhile_ = [this] { serve_once(); };
    EXPECT_EQ(call(4), HostCallResult::answered);
    EXPECT_EQ(reply_, 40U);
}

// A look at its clock takes long, and the answer comes meanwhile.
struct SlowClock {
    std::function<void()> const* meanwhile;

    [[nodiscard]] std::uint64_t now_ns() const {
        (*meanwhile)();
        return 0;
    }
    void idle(std::uint32_t /*polls*/) const {}
};

TEST_F(HostCallerTest, takesAnAnswerThatComesAtTheLastMoment) {
    meanwhile_ = [this] { serve_once(); };
    BasicHostCaller<std::uint64_t, std::uint64_t, DeviceFar, DeviceNear, SlowClock> caller(
        requests_.view(), slots_.view(), SlowClock{&meanwhile_});
    EXPECT_EQ(caller.call(6, reply_, 0), HostCallResult::answered);
    EXPECT_EQ(reply_, 60U);
}

TEST_F(HostCallerTest, leavesItsSlotAsItWasWhereItFindsNoSlot) {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(caller_.post(5));
    EXPECT_FALSE(caller_.post(6));
    EXPECT_EQ(call(7), HostCallResult::no_room);
    EXPECT_EQ(slots_.word(0), 0U);
    EXPECT_EQ(slots_.word(1), 0U);
}

// A far policy that notes its stores of lines and its releases.
class OrderedFar : public DeviceFar {
   public:
    explicit OrderedFar(std::string* order) : order_(order) {}

    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t quads = quads_per_line) const {
        *order_ += "line ";
        DeviceFar::store_line(to, line, previous, quads);
    }
    void release() const { *order_ += "release "; }

   private:
    std::string* order_;
};

// Catches a call, a post or an answer whose data are released too late or not at all; and a fence
// that is not needed.
TEST(HostCallOrderTest, dataAreReleasedBeforeTheLineThatNamesThemAndOnlyThen) {
    MpmcRingSlots requests(8, 1);
    ReplySlotsMemory slots(2);
    std::uint64_t now = 0;
    std::function<void()> const nothing;
    std::string order;
    BasicHostCaller<std::uint64_t, std::uint64_t, OrderedFar, DeviceNear, PollCountingClock> caller(
        requests.view(), slots.view(), PollCountingClock{&now, &nothing}, OrderedFar(&order));
    std::uint64_t reply = 0;
    EXPECT_EQ(caller.call(1, reply, 0), HostCallResult::timed_out);
    EXPECT_EQ(caller.call(2, reply, 0, OutOfLine::written), HostCallResult::timed_out);
    EXPECT_EQ(std::exchange(order, {}), "line release line ");
    EXPECT_TRUE(caller.post(3));
    EXPECT_TRUE(caller.post(4, OutOfLine::written));
    EXPECT_EQ(std::exchange(order, {}), "line release line ");
    HostReplyWriter<OrderedFar> const writer(slots.view(), OrderedFar(&order));
    writer.answer({0, 1}, std::uint64_t{1});
    writer.answer({1, 1}, std::uint64_t{2}, OutOfLine::written);
    EXPECT_EQ(order, "line release line ");
}

}  // namespace
}  // namespace carillon::test
