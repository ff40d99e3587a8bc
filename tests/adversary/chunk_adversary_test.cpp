// SPDX-License-Identifier: Apache-2.0
// Rings of chunks on the adversary's machine.
#include "adversary/scenarios/chunk_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class AdversaryChunkRingTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryChunkRingTest, testing::ValuesIn(all_configurations()),
                         configuration_name);
constexpr Bus unordered_chunk_words{.pieces = Pieces::words, .fences_order = false};
INSTANTIATE_TEST_SUITE_P(
    WithReadBack, AdversaryChunkRingTest,
    testing::Values(
        Configuration{{.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true},
        Configuration{unordered_chunk_words, {StoreKind::movdir64b, PublishMode::one_step}, true},
        Configuration{unordered_chunk_words, {StoreKind::avx2, PublishMode::two_step}, true}),
    configuration_name);

TEST_P(AdversaryChunkRingTest, everyChunkComesInOrderAndHoldsStillUntilItIsReleased) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return ChunkScenario<LateGpu>(policies).run();
    }));
}

}  // namespace
}  // namespace carillon::test
