// SPDX-License-Identifier: Apache-2.0
// The concepts that each policy models, and the instructions that it needs: templates use nothing
// that their concepts do not ask for, so they compile with every policy that models these.
#include <gtest/gtest.h>

#include <carillon/block.hpp>
#include <carillon/detail/access/access.hpp>
#include <carillon/detail/access/device_near_far.hpp>
#include <carillon/detail/access/host_near_far.hpp>
#include <carillon/detail/machine/group.hpp>
#include <carillon/detail/protocol/host_call.hpp>
#include <carillon/detail/protocol/mpmc_ring_protocol.hpp>
#include <carillon/detail/protocol/ring_protocol.hpp>
#include <concepts>

#include "support/accesses.hpp"
#include "support/recording.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;
namespace {

static_assert(CpuLoads<X86> && CpuStores<X86>);
static_assert(CpuMappedStores<X86> && CpuBulkStores<X86>);
static_assert(GpuLoads<DeviceInstructions> && GpuStores<DeviceInstructions>);

static_assert(NearAccess<HostCached> && ClaimAccess<HostCached> && TellAccess<HostCached>);
static_assert(!PairAccess<HostCached> && !FarAccess<HostCached>);
static_assert(NearAccess<DeviceNear> && ClaimAccess<DeviceNear> && PairAccess<DeviceNear>);
static_assert(!TellAccess<DeviceNear> && !FarAccess<DeviceNear>);
static_assert(FarAccess<HostMapped> && !NearAccess<HostMapped>);
static_assert(FarAccess<DeviceFar> && !NearAccess<DeviceFar>);
static_assert(QuadAccess<DeviceFar> && !QuadAccess<HostMapped>);

static_assert(NearAccess<RecordingNear> && FarAccess<RecordingFar>);
static_assert(NearAccess<AnyNear> && FarAccess<AnyFar>);

static_assert(DoorbellThrough<NoDoorbell, HostMapped> && DoorbellThrough<TailDoorbell, HostMapped>);
static_assert(DoorbellThrough<TailDoorbell, DeviceFar> && !DoorbellThrough<HostMapped, HostMapped>);
static_assert(RecordsThrough<NoRecord, DeviceNear> && RecordsThrough<NoRecord, HostCached>);
static_assert(RecordsThrough<ClaimRecord, HostCached> && !RecordsThrough<ClaimRecord, DeviceNear>);
static_assert(PollClock<DeviceClock>);

static_assert(VotingGroup<OneThread> && SharingGroup<OneThread>);
static_assert(SharingGroup<BlockThreads> && !VotingGroup<BlockThreads>);

// Instructions that have no more than a ring's ends on the host ask for.
struct PlainCpu {
    static Quad load_quad(Quad const* from) { return detail::cpu::load_quad(from); }
    static std::uint64_t load_word(std::uint64_t const* from) {
        return detail::cpu::load_word(from);
    }
    static void store_word(std::uint64_t* to, std::uint64_t value) {
        detail::cpu::store_word(to, value);
    }
    static void store_line(StoreKind /*kind*/, Line* to, Line const& line) {
        for (std::size_t i = 0; i < quads_per_line; ++i) {
            detail::cpu::store_quad(&to->quads[i], line.quads[i]);
        }
    }
    static void store_fence() {}
    static void read_back(std::uint64_t const* /*from*/) {}
};

// A policy has exactly the abilities of its instructions.
static_assert(NearAccess<BasicHostCached<PlainCpu>> && FarAccess<BasicHostMapped<PlainCpu>>);
static_assert(!ClaimAccess<BasicHostCached<PlainCpu>>);

// Catches a concept that asks for less than the ends use: they would not compile.
TEST(PoliciesTest, ringRunsOverInstructionsThatHaveNoMoreThanTheConceptsSay) {
    using Near = BasicHostCached<PlainCpu>;
    using Far = BasicHostMapped<PlainCpu>;
    RingMemory memory(4);
    Far const far({StoreKind::cached, PublishMode::two_step});
    Producer<Whole, Far, Near> producer(memory.view(), far);
    Consumer<Whole, Near, Far> consumer(memory.view(), Near(), far);
    for (std::uint64_t number = 1; number <= 20; ++number) {
        Whole const sent[2] = {Whole::make(number), Whole::make(~number)};
        ASSERT_EQ(producer.try_push_n(sent, 2, OutOfLine::written), 2U);
        Whole taken[2]{};
        ASSERT_EQ(consumer.try_pop_n(taken, 2), 2U);
        EXPECT_EQ(taken[0], sent[0]);
        EXPECT_EQ(taken[1], sent[1]);
    }
}

}  // namespace
}  // namespace carillon::test
