// SPDX-License-Identifier: Apache-2.0
// Calls from the device to the host on the adversary's machine.
#include "adversary/scenarios/host_service_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryHostServiceTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryHostServiceTest, testing::ValuesIn(all_configurations()),
                         configuration_name);

TEST_P(AdversaryHostServiceTest, everyAnswerIsWholeAndGoesToWhoAskedAndLateOnesToNobody) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return HostServiceScenario<>(policies).run();
    }));
}

// Two threads may both find the same slot free. Claims in the ring, of its first word, are whole.
class TornClaimGpu : public AdversaryGpu {
   public:
    explicit TornClaimGpu(Machine& machine)
        : AdversaryGpu(machine), of_the_ring_(&machine.device_lines()->quads[0].low) {}

    [[nodiscard]] std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                 std::uint64_t desired) const {
        if (to == of_the_ring_) return AdversaryGpu::compare_exchange(to, expected, desired);
        std::uint64_t const before = load_acquire(to);
        if (before == expected) (void)fetch_add(to, desired - expected);
        return before;
    }

   private:
    std::uint64_t const* of_the_ring_;
};

constexpr Configuration broken_ordinary{{}, {StoreKind::avx2, PublishMode::one_step}};

TEST(AdversaryBreaksTest, placesThatAreClaimedInTwoSteps) {
    EXPECT_TRUE(
        fails_for_some_seed(broken_ordinary, "has the answer", [](Policies const& policies) {
            return HostServiceScenario<TornClaimGpu>(policies).run();
        }));
}

// A reply whose pieces arrive in any order, behind tags that were there first.
TEST(AdversaryBreaksTest, answersInOneStepOnABusThatCutsQuads) {
    Configuration const cut{{.pieces = Pieces::words}, {StoreKind::sse2, PublishMode::one_step}};
    EXPECT_TRUE(fails_for_some_seed(cut, "has the answer", [](Policies const& policies) {
        return HostServiceScenario<>(policies).run();
    }));
}

}  // namespace
}  // namespace carillon::test
