// SPDX-License-Identifier: Apache-2.0
// The adversary can break chunks: a protocol without one of its rules fails on its machine.
#include "adversary/scenarios/chunk_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

struct FencelessLateGpu : LateGpu {
    using LateGpu::LateGpu;
    static void fence_system() {}
};

// A late load sees what the producer writes into the chunk after its credit.
TEST(AdversaryBreaksTest, aChunkReleasedWithoutAFence) {
    Configuration const ordinary{{}, {StoreKind::avx2, PublishMode::one_step}};
    EXPECT_TRUE(fails_for_some_seed(ordinary, "has other data", [](Policies const& policies) {
        return ChunkScenario<FencelessLateGpu>(policies).run();
    }));
}

TEST(AdversaryBreaksTest, aChunkTowardsADeviceThatIsNotReadBack) {
    Configuration const unordered{{.fences_order = false},
                                  {StoreKind::avx2, PublishMode::one_step}};
    EXPECT_TRUE(fails_for_some_seed(unordered, "has other data", [](Policies const& policies) {
        return ChunkScenario<LateGpu>(policies).run();
    }));
}

}  // namespace
}  // namespace carillon::test
