// SPDX-License-Identifier: Apache-2.0
// Calls whose callers may give up: a caller that gets an answer gets its own, whole, with its data.
#include "model/models/reply_slots_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
using namespace detail;
namespace {

template <CallShape shape, Quads quads>
void expect_success(Search const& search) {
    EXPECT_EQ((outcome<DeviceAsksModel<shape, quads>>(search)), "SUCCESS");
    EXPECT_EQ((outcome<HostAsksModel<shape, quads>>(search)), "SUCCESS");
}

constexpr CallShape one_reply_slot{.slots = 1, .calls = 1, .looks = 1, .bound = 1};
constexpr CallShape patient{.slots = 1, .calls = 2, .looks = 1, .bound = 0};
constexpr CallShape many{
    .slots = 2, .calls = 4, .looks = 2, .bound = 0, .first = (Sequence{1} << 32U) - 2};

TEST(ReplySlotsModelTest, fiveSwitchesWithOneLookEach) {
    expect_success<one_reply_slot, last_quad>(switching_at_most(5));
}
TEST(ReplySlotsModelTest, oneSwitchAndNoBoundOnWaiting) {
    expect_success<patient, first_and_last_quad>(switching_at_most(1));
}
TEST(ReplySlotsModelTest, randomExecutionsAcrossTheTagsWrap) {
    expect_success<many, all_quads>(random_executions(50'000));
}

// Replies of two lines: the late one of a caller that gave up may be there in part.
constexpr CallShape patient_in_two_lines{
    .slots = 1, .calls = 2, .looks = 1, .bound = 0, .in_two_lines = true};
constexpr CallShape many_in_two_lines{.slots = 2,
                                      .calls = 4,
                                      .looks = 2,
                                      .bound = 0,
                                      .first = (Sequence{1} << 32U) - 2,
                                      .in_two_lines = true};

TEST(ReplySlotsModelTest, oneSwitchOfTwoLines) {
    expect_success<patient_in_two_lines, first_quad>(switching_at_most(1));
}
TEST(ReplySlotsModelTest, randomExecutionsOfTwoLines) {
    expect_success<many_in_two_lines, all_quads>(random_executions(30'000));
}

// Takes a slot whose word it has read before, without comparing.
struct UncomparingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
    [[nodiscard]] Word compare_exchange(Word* to, Word expected, Word desired) const {
        store_relaxed(to, desired);
        return expected;
    }
};
struct RelaxedClaimingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
    using ClaimingGpu::load_acquire;
    [[nodiscard]] Quad load_acquire(Quad const* from) const { return load_relaxed(from); }
};

TEST(ReplySlotsModelTest, twoCallersInOneSlotAreFound) {
    EXPECT_NE((quiet_outcome<DeviceAsksModel<patient, last_quad, UncomparingGpu>>(
                  random_executions(20'000))),
              "SUCCESS");
}
TEST(ReplySlotsModelTest, answerThatIsTakenWithoutAnAcquireIsFound) {
    EXPECT_EQ((quiet_outcome<DeviceAsksModel<patient, last_quad, RelaxedClaimingGpu>>(
                  random_executions(20'000))),
              "DATA RACE");
}

}  // namespace
}  // namespace carillon::test
