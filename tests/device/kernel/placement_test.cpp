// SPDX-License-Identifier: Apache-2.0
// Where blocks and channels are put: by claim of a role, by measurement, by profile. How fast the
// places are is not asserted; `carillon tune` shows it.
#include "carillon/placement.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "carillon/cores.hpp"
#include "device/device_fixture.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_directory.hpp"
#include "support/usable.hpp"

namespace carillon::test {
using namespace detail;

// Counts the blocks that take each role, in host memory.
struct CountBody {
    std::uint64_t* counts;  // a word for each role
    std::uint64_t* where;   // and which SM its block was on

    CARILLON_HD void operator()(unsigned role) const {
        DeviceFar const far;
        far.store_word(counts + role, DeviceNear().load_word(counts + role) + 1);
        far.store_word(where + role, DeviceClock::sm());
    }
};

namespace {

class PlacementTest : public KernelTest {
   protected:
    // Runs a CountBody under `pins`; afterwards counts and places are in words().
    void count(Pins const& pins) {
        words_ = device().allocate_host(2 * most_roles * sizeof(std::uint64_t));
        auto* const on_device = static_cast<std::uint64_t*>(words_.device_ptr());
        auto const kernel =
            launch_pinned<CountBody>(device(), pins, CountBody{on_device, on_device + most_roles});
        ASSERT_TRUE(kernel.wait(patience));
    }

    [[nodiscard]] std::uint64_t count_of(unsigned role) const {
        return HostCached().load_word(words() + role);
    }
    [[nodiscard]] std::uint64_t sm_of(unsigned role) const {
        return HostCached().load_word(words() + most_roles + role);
    }

    void expect_each_taken_once(unsigned roles) const {
        for (unsigned role = 0; role < most_roles; ++role) {
            EXPECT_EQ(count_of(role), role < roles ? 1U : 0U) << role;
        }
    }

    [[nodiscard]] PlacementProfile quick_profile() const {
        return tune(device(), {.seconds = 1, .rounds = 2, .cores = false});
    }

    static constexpr unsigned most_roles = 16;

   private:
    [[nodiscard]] std::uint64_t const* words() const {
        return static_cast<std::uint64_t const*>(words_.host_ptr());
    }
    Memory words_;
};
CARILLON_ON_EVERY_DEVICE(PlacementTest);

TEST_P(PlacementTest, withoutPinsARoleIsABlock) {
    count(Pins(3));
    expect_each_taken_once(3);
}

TEST_P(PlacementTest, everyRoleIsTakenByOneBlock) {
    std::vector<std::uint32_t> const anywhere(7, any_sm);
    Pins const pins(device(), anywhere);
    count(pins);
    expect_each_taken_once(7);
    CARILLON_EXPECT_ERROR(count(pins), UsageError, "a launch already uses");
}

TEST_P(PlacementTest, roleIsTakenOnTheSmThatItWants) {
    if (!on_gpu()) GTEST_SKIP() << "the emulated device has no SMs";
    auto const last = static_cast<std::uint32_t>(*device().info().sm_count - 1);
    std::vector<std::uint32_t> const wanted{last, 0, any_sm, 1};
    count(Pins(device(), wanted));
    expect_each_taken_once(4);
    for (unsigned role : {0U, 1U, 3U}) EXPECT_EQ(sm_of(role), wanted[role]);
}

TEST_P(PlacementTest, roleThatNobodyCanComeForIsTakenAllTheSame) {
    constexpr std::uint32_t nowhere = 60'000;
    std::vector<std::uint32_t> const wanted{nowhere, 0, nowhere};
    // Beyond Pins, which asks nothing of the emulated device's only SM, number 0.
    std::size_t const size = PinTable::words_for(wanted.size()) * sizeof(std::uint64_t);
    Memory const memory = device().allocate(size);
    auto* const words = static_cast<std::uint64_t*>(memory.host_ptr());
    for (std::uint32_t i = 0; i < wanted.size(); ++i) words[PinTable::wanted_at(i)] = wanted[i];
    memory.flush(0, size);
    PinTable const table(static_cast<std::uint64_t*>(memory.device_ptr()), 3);
    Memory const counts = device().allocate_host(2 * most_roles * sizeof(std::uint64_t));
    auto* const on_device = static_cast<std::uint64_t*>(counts.device_ptr());
    unsigned const blocks = 8;  // five of them have nothing to do
    auto const kernel =
        launch(device(), blocks,
               PinnedBody<CountBody>{table, CountBody{on_device, on_device + most_roles}});
    ASSERT_TRUE(kernel.wait(patience));
    auto const* const on_host = static_cast<std::uint64_t const*>(counts.host_ptr());
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(HostCached().load_word(on_host + i), i < 3 ? 1U : 0U) << i;
    }
}

TEST_P(PlacementTest, noRolesAreAUsageError) {
    CARILLON_EXPECT_ERROR(Pins(device(), {}), UsageError, "no SMs given");
}

TEST_P(PlacementTest, tuningRanksEverySmOnce) {
    PlacementProfile const profile = tune(device(), {.seconds = 1, .rounds = 2});
    EXPECT_EQ(profile.uuid, device().info().uuid);
    EXPECT_FALSE(profile.date.empty());
    ASSERT_FALSE(profile.sms.empty());
    std::set<std::uint32_t> ids;
    for (RankedProcessor const& each : profile.sms) {
        EXPECT_TRUE(ids.insert(each.id).second) << each.id;
        EXPECT_GE(each.p50_ns, profile.sms.front().p50_ns);
        EXPECT_GT(each.p50_ns, 0);
    }
    EXPECT_LE(ids.size(), static_cast<std::size_t>(device().info().sm_count.value_or(1)));
    EXPECT_LE(profile.request_pages.best_ns, profile.request_pages.worst_ns);
    EXPECT_LE(profile.reply_pages.best_ns, profile.reply_pages.worst_ns);
    std::vector<unsigned> const cores = allowed_cores();
    for (RankedProcessor const& each : profile.cores) {
        EXPECT_TRUE(std::find(cores.begin(), cores.end(), each.id) != cores.end()) << each.id;
    }
}

TEST_P(PlacementTest, tuningLeavesTheThreadWhereItMayRun) {
    std::vector<unsigned> const before = allowed_cores();
    (void)tune(device(), {.seconds = 1, .rounds = 1});
    EXPECT_EQ(allowed_cores(), before);
}

TEST_P(PlacementTest, tuningForNoTimeIsAUsageError) {
    CARILLON_EXPECT_ERROR(tune(device(), {.seconds = 0}), UsageError, "tune: ");
    CARILLON_EXPECT_ERROR(tune(device(), {.rounds = 0}), UsageError, "tune: ");
}

TEST_P(PlacementTest, blocksGetPartsOfTheirOwn) {
    for (std::uint32_t capacity : {2U, 64U, 128U}) {
        SCOPED_TRACE(capacity);
        ChannelMemory memory(device(), 8, capacity, 0xfffffff0);
        ChannelPlacement const placement = place_channels(device(), memory, 3, quick_profile());
        ASSERT_EQ(placement.blocks.size(), 3U);
        std::set<std::uint32_t> in_device;
        std::set<std::uint32_t> in_host;
        for (BlockPlacement const& block : placement.blocks) {
            EXPECT_GT(block.p50_ns, 0);
            EXPECT_LT(block.location.in_device_memory, 8U);
            EXPECT_LT(block.location.in_host_memory, 8U);
            in_device.insert(block.location.in_device_memory);
            in_host.insert(block.location.in_host_memory);
        }
        EXPECT_EQ(in_device.size(), 3U);
        EXPECT_EQ(in_host.size(), 3U);
        memory.arrange(placement.locations());  // throws if they were not
    }
}

TEST_P(PlacementTest, asManyCandidatesAsBlocksWillDo) {
    ChannelMemory memory(device(), 2, 64);
    EXPECT_EQ(place_channels(device(), memory, 2, {}).blocks.size(), 2U);
}

TEST_P(PlacementTest, fewerCandidatesThanBlocksAreAUsageError) {
    ChannelMemory memory(device(), 2, 64);
    CARILLON_EXPECT_ERROR(place_channels(device(), memory, 3, {}), UsageError,
                          "2 candidates are too few for 3 blocks");
    CARILLON_EXPECT_ERROR(place_channels(device(), memory, 0, {}), UsageError, "at least one");
}

TEST_P(PlacementTest, arrangedMemoryHasEachChannelWhereItWasPut) {
    ChannelMemory memory(device(), 4, 64);
    memory.arrange(std::vector<ChannelLocation>{{2, 3}, {0, 2}});
    auto const location_of = [&](unsigned channel) {
        ChannelTable const table = memory.host_view();
        ChannelView const view = table.channel(channel);
        return ChannelLocation{
            static_cast<std::uint32_t>(
                (reinterpret_cast<std::byte*>(view.requests.base) - table.in_device_memory) /
                static_cast<std::ptrdiff_t>(ChannelTable::request_bytes({64}))),
            static_cast<std::uint32_t>(
                (reinterpret_cast<std::byte*>(view.replies.base) - table.in_host_memory) /
                static_cast<std::ptrdiff_t>(ChannelTable::host_bytes({64})))};
    };
    EXPECT_EQ(location_of(0), (ChannelLocation{2, 3}));
    EXPECT_EQ(location_of(1), (ChannelLocation{0, 2}));
    EXPECT_EQ(location_of(2), (ChannelLocation{1, 0}));  // what was left
    EXPECT_EQ(location_of(3), (ChannelLocation{3, 1}));
    memory.reset();
    EXPECT_EQ(location_of(0), (ChannelLocation{2, 3}));
    CARILLON_EXPECT_ERROR(memory.arrange(std::vector<ChannelLocation>{{4, 0}}), UsageError,
                          "part 4 is out of range: the memory has 4");
    CARILLON_EXPECT_ERROR(memory.arrange(std::vector<ChannelLocation>{{0, 1}, {2, 1}}), UsageError,
                          "part 1 is given twice");
}

// Kernels and the profile that they find, in a folder of this test's own.
class PlacedKernelTest : public PlacementTest {
   protected:
    void save(PlacementProfile const& profile) const {
        save_placement_profile(profile, placement_profile_path(device().info()));
    }

    // Every channel of a placed kernel answers, over more than a lap of its ring.
    static void expect_answers(PersistentKernel<Triple>& kernel) {
        for (unsigned block = 0; block < kernel.channels(); ++block) {
            for (long i = 0; i < 100; ++i) {
                ASSERT_EQ(kernel.channel(block).call(i + block, patience), 3 * (i + block));
            }
        }
    }

   private:
    test::TemporaryDirectory folder_;
    Environment profiles_{"CARILLON_PROFILES", folder_.path().c_str()};
};
CARILLON_ON_EVERY_DEVICE(PlacedKernelTest);

TEST_P(PlacedKernelTest, withoutAProfileItIsAnywhereAndSaysWhy) {
    PersistentKernel<Triple> kernel(device(), {.capacity = 64});
    EXPECT_TRUE(kernel.placement().blocks.empty());
    EXPECT_NE(kernel.placement().why_not.find("no profile at"), std::string::npos);
    expect_answers(kernel);
}

TEST_P(PlacedKernelTest, withAProfileEveryBlockIsPlacedAndAnswers) {
    PlacementProfile const profile = quick_profile();
    save(profile);
    PersistentKernel<Triple> kernel(device(), {.blocks = 2, .capacity = 64});
    EXPECT_EQ(kernel.placement().why_not, "");
    ASSERT_EQ(kernel.placement().blocks.size(), 2U);
    for (BlockPlacement const& block : kernel.placement().blocks) EXPECT_GT(block.p50_ns, 0);
    if (on_gpu()) {
        EXPECT_EQ(kernel.sm(0), profile.sms[0].id);
        EXPECT_EQ(kernel.sm(1), profile.sms[1].id);
    }
    expect_answers(kernel);
    kernel.stop(patience);
}

TEST_P(PlacedKernelTest, ringOfSeveralPagesHasItsSmChosen) {
    save(quick_profile());
    PersistentKernel<Triple> kernel(device());
    ASSERT_EQ(kernel.placement().blocks.size(), 1U);
    EXPECT_NE(kernel.placement().why_not.find("larger than a page"), std::string::npos);
    expect_answers(kernel);
}

TEST_P(PlacedKernelTest, damagedProfileIsLeftAloneAndNamed) {
    save(quick_profile());
    std::ofstream(placement_profile_path(device().info())) << "damaged";
    PersistentKernel<Triple> kernel(device(), {.capacity = 64});
    EXPECT_TRUE(kernel.placement().blocks.empty());
    EXPECT_NE(kernel.placement().why_not.find(".json: "), std::string::npos);
    expect_answers(kernel);
}

TEST_P(PlacedKernelTest, placementThatIsOffLooksForNothing) {
    save(quick_profile());
    PersistentKernel<Triple> kernel(device(),
                                    {.capacity = 64, .channels = {.placement = Placement::off}});
    EXPECT_TRUE(kernel.placement().blocks.empty());
    expect_answers(kernel);
}

TEST_P(PlacedKernelTest, tunedKernelNeedsNoProfile) {
    PersistentKernel<Triple> kernel(device(),
                                    {.capacity = 64, .channels = {.placement = Placement::tuned}});
    EXPECT_EQ(kernel.placement().blocks.size(), 1U);
    expect_answers(kernel);
}

TEST_P(PlacedKernelTest, profileOfTheCallersIsTakenForTheOneThatIsKept) {
    auto profile = std::make_shared<PlacementProfile>(quick_profile());
    PersistentKernel<Triple> kernel(device(), {.capacity = 64, .channels = {.profile = profile}});
    EXPECT_EQ(kernel.placement().blocks.size(), 1U);
    expect_answers(kernel);
    auto other = std::make_shared<PlacementProfile>(*profile);
    other->uuid = "GPU-of-somebody-else";
    CARILLON_EXPECT_ERROR(
        PersistentKernel<Triple>(device(), {.capacity = 64, .channels = {.profile = other}}),
        UsageError, "the profile is for GPU-of-somebody-else, but this device is ");
}

TEST_P(PlacedKernelTest, blockWithAnExpressChannelIsNotPlacedAndTheErrorNamesTheOption) {
    save(quick_profile());
    KernelOptions options{.capacity = 64, .channels = {.express = true}};
    PersistentKernel<Triple> kernel(device(), options);
    EXPECT_TRUE(kernel.placement().blocks.empty());
    EXPECT_NE(kernel.placement().why_not.find("Channels::express"), std::string::npos);
    expect_answers(kernel);
    options.channels.placement = Placement::tuned;
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device(), options), UsageError,
                          "a block with an express channel (Channels::express) is not placed");
}

TEST_P(PlacedKernelTest, memoryOfTheCallersStaysAsItIs) {
    save(quick_profile());
    auto const memory = std::make_shared<ChannelMemory>(device(), 3, 64);
    memory->arrange(std::vector<ChannelLocation>{{2, 1}});
    PersistentKernel<Triple> kernel(device(), {.memory = memory});
    EXPECT_TRUE(kernel.placement().blocks.empty());
    expect_answers(kernel);
}

}  // namespace
}  // namespace carillon::test
