// SPDX-License-Identifier: Apache-2.0
// The models find defects: each test breaks one thing and expects Relacy to report the consequence.
#include <gtest/gtest.h>

#include "model/models/count_model.hpp"
#include "model/models/drain_model.hpp"
#include "model/models/mpmc_ring_model.hpp"
#include "model/models/mpmc_traffic_model.hpp"
#include "model/models/ring_model.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Cpu = RelacyCpu<WholeQuads>;
using Gpu = RelacyGpu<WholeQuads>;

struct FencelessCpu : Cpu {
    using Cpu::Cpu;
    static void store_fence() {}
};

struct FencelessGpu : Gpu {
    using Gpu::Gpu;
    static void fence_system() {}
};

// Every load of a quad is relaxed.
struct RelaxedGpu : Gpu {
    using Gpu::Gpu;
    using Gpu::load_acquire;
    [[nodiscard]] Quad load_acquire(Quad const* from) const { return load_relaxed(from); }
};

// Believes that one line more was taken.
struct GenerousCpu : Cpu {
    using Cpu::Cpu;
    [[nodiscard]] Word load_word(Word const* from) const { return Cpu::load_word(from) + 1; }
};

// A device that reports one line too many as taken.
struct HastyGpu : Gpu {
    using Gpu::Gpu;
    using Gpu::store_relaxed;
    void store_relaxed(Word* to, Word word) const { Gpu::store_relaxed(to, word + 1); }
};

// Never says that a line was taken.
struct SilentGpu : Gpu {
    using Gpu::Gpu;
    using Gpu::store_relaxed;
    static void store_relaxed(Word* /*to*/, Word /*word*/) {}
};

// A quad's tag is loaded last.
struct UnorderedWords : QuadsOfWords {
    using QuadsOfWords::QuadsOfWords;
    [[nodiscard]] Quad load(Quad const* from, rl::memory_order /*order*/) const {
        return {load(&from->low, rl::mo_relaxed), load(&from->high, rl::mo_relaxed)};
    }
    using QuadsOfWords::load;
};

template <class Way, RingPlan plan>
std::string outcome_of() {
    return quiet_outcome<RingModel<Way, plan>>(random_executions(1000));
}
template <class C, class G>
using Broken = Hardware<all_quads, C, G>;

TEST(DefectModelTest, relaxedLastLoadIsADataRace) {
    EXPECT_EQ((outcome_of<ToDevice<Broken<Cpu, RelaxedGpu>>, endless>()), "DATA RACE");
}
TEST(DefectModelTest, relaxedLastLoadOfTwoLinesIsADataRace) {
    EXPECT_EQ((outcome_of<InTwoLines<ToDevice<Broken<Cpu, RelaxedGpu>>>, endless>()), "DATA RACE");
}
TEST(DefectModelTest, hostWithoutReleaseIsADataRace) {
    EXPECT_EQ((outcome_of<ToDevice<Broken<FencelessCpu, Gpu>>, endless>()), "DATA RACE");
}
TEST(DefectModelTest, deviceWithoutReleaseIsADataRace) {
    EXPECT_EQ((outcome_of<ToHost<Broken<Cpu, FencelessGpu>>, endless>()), "DATA RACE");
}
TEST(DefectModelTest, flagWithoutReleaseIsADataRace) {
    using Model = CountModel<AsFlag, ToHost<Broken<Cpu, FencelessGpu>>, three_numbers>;
    EXPECT_EQ(quiet_outcome<Model>(every_execution), "DATA RACE");
}
TEST(DefectModelTest, producerThatTakesOneCreditTooManyOverwrites) {
    EXPECT_EQ((outcome_of<ToDevice<Broken<GenerousCpu, Gpu>>, endless>()), "USER ASSERT FAILED");
}
TEST(DefectModelTest, consumerThatGivesOneCreditTooManyIsOverwritten) {
    EXPECT_EQ((outcome_of<ToDevice<Broken<Cpu, HastyGpu>>, four_slots>()), "USER ASSERT FAILED");
}
TEST(DefectModelTest, creditThatNeverComesIsALivelock) {
    EXPECT_EQ((outcome_of<ToDevice<Broken<Cpu, SilentGpu>>, endless>()), "LIVELOCK");
}
TEST(DefectModelTest, tornQuadInOneStepIsSeen) {
    using Torn = Broken<TearingCpu<Evicted::either>, Gpu>;
    EXPECT_EQ((outcome_of<ToDevice<Torn>, four_slots>()), "USER ASSERT FAILED");
}
TEST(DefectModelTest, tagLoadedAfterItsWordIsSeen) {
    EXPECT_EQ((outcome_of<ToDevice<Emulated<all_quads, UnorderedWords>>, four_slots>()),
              "USER ASSERT FAILED");
}

// Takes the first pages for the chosen ones.
struct NeverToldPages : ToldPages {
    using ToldPages::ToldPages;
    [[nodiscard]] static bool known() { return true; }
};
TEST(DefectModelTest, lineInOnePageBeforeTheChoiceIsKnownNeverArrives) {
    using Way = ToDevice<Hardware<all_quads>>;
    using Model = RingModel<Way, endless, NeverToldPages, EitherPages>;
    EXPECT_EQ(quiet_outcome<Model>(random_executions(1000)), "LIVELOCK");
}

// Rows rely on an order that nothing documents: only the load of a row's last message is an
// acquire.
TEST(DefectModelTest, rowOnADeviceThatLoadsAheadOfABranchIsADataRace) {
    EXPECT_EQ((outcome_of<ToDevice<Hardware<all_quads>>, rows_without_branches>()), "DATA RACE");
}

struct RelaxedClaims : SharingCpu {
    using SharingCpu::SharingCpu;
    [[nodiscard]] Word compare_exchange(Word* to, Word expected, Word desired) const {
        return exchange(to, expected, desired, rl::mo_relaxed);
    }
};

// Its record may be seen later than its claim, which is then given up although it lives.
TEST(DefectModelTest, claimThatDoesNotReleaseItsRecordIsGivenUp) {
    using Model = MpmcRingModel<stripes_of_one, RelaxedClaims>;
    EXPECT_NE(quiet_outcome<Model>(random_executions(60'000)), "SUCCESS");
}

struct ReleaselessFar : BasicHostMapped<MortalCpu> {
    ReleaselessFar(BasicHostMapped<MortalCpu> const& far) : BasicHostMapped(far) {}
    void release() const {}
};

TEST(DefectModelTest, dataThatAreNotReleasedAreARace) {
    using Model = MpmcRingModel<stripes_of_one, SharingCpu, ReleaselessFar>;
    EXPECT_NE(quiet_outcome<Model>(random_executions(60'000)), "SUCCESS");
}

struct FencelessClaimingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
    static void fence_system() {}
};

TEST(DefectModelTest, dataThatTheDeviceDoesNotReleaseAreARace) {
    using Model = MpmcTrafficModel<MpmcToHost<FencelessClaimingGpu>, one_each_with_data>;
    EXPECT_EQ(quiet_outcome<Model>(every_execution), "DATA RACE");
}

// Two of its threads believe that they have claimed the same number.
struct TrustingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
    [[nodiscard]] Word compare_exchange(Word* to, Word expected, Word desired) const {
        (void)ClaimingGpu::compare_exchange(to, expected, desired);
        return expected;
    }
};

TEST(DefectModelTest, numberThatTwoClaimIsSeen) {
    using Model = MpmcTrafficModel<MpmcToHost<TrustingGpu>, one_and_two>;
    EXPECT_NE(quiet_outcome<Model>(switching_at_most(1)), "SUCCESS");
}

struct NoLightFence : FullFences {
    static void light() {}
};
struct NoHeavyFence : FullFences {
    static void heavy() {}
};

TEST(DefectModelTest, requestThatIsAnnouncedWithoutAFenceIsNotServed) {
    EXPECT_EQ(quiet_outcome<DrainModel<NoLightFence>>(every_execution), "USER ASSERT FAILED");
}
TEST(DefectModelTest, drainWithoutAFenceMissesARequest) {
    EXPECT_EQ(quiet_outcome<DrainModel<NoHeavyFence>>(every_execution), "USER ASSERT FAILED");
}

}  // namespace
}  // namespace carillon::test
