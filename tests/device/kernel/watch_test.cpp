// SPDX-License-Identifier: Apache-2.0
// Blocks that watch several channels by their doorbells.
#include <algorithm>
#include <thread>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;

struct Doubled {
    CARILLON_HD std::uint64_t operator()(std::uint64_t value) const { return 2 * value; }
};

// Answers with the number of its turn among all of its kernel; holds a request back at the gate.
struct InTurn {
    std::uint64_t const* gate;
    std::uint64_t* turns;  // in device memory

    CARILLON_HD std::uint64_t operator()(GatedRequest const& request) const {
        if (request.gate != 0) wait_at(gate, request.gate);
        return DeviceNear().fetch_add(turns, 1);
    }
};

// A slow handler, which counts the requests that it has served.
struct Delayer {
    std::uint64_t* served;  // in device memory

    CARILLON_HD std::uint64_t operator()(std::uint64_t value) const {
        constexpr std::uint64_t long_ns = 20'000'000;
        DeviceClock clock;
        std::uint64_t const began = clock.now_ns();
        for (std::uint32_t polls = 1; clock.now_ns() - began < long_ns; ++polls) clock.idle(polls);
        DeviceNear().fetch_add(served, 1);
        return value;
    }
};

namespace {

using Numbers = PersistentKernel<Doubled, WatchedChannels>;
using Tickets = std::vector<Ticket>;

class WatchTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(WatchTest);

// Sends a request to every channel at once, and takes all replies: each must be its channel's own.
void ask_all(Numbers& kernel, std::uint64_t round) {
    Tickets tickets;
    for (unsigned i = 0; i < kernel.channels(); ++i) {
        tickets.push_back(kernel.channel(i).submit(1000 * round + i, patience));
    }
    for (unsigned i = 0; i < kernel.channels(); ++i) {
        ASSERT_EQ(kernel.channel(i).wait(tickets[i], patience), 2 * (1000 * round + i)) << i;
    }
}

TEST_P(WatchTest, oneBlockAnswers64Channels) {
    Numbers kernel(device(), {.capacity = 4, .watched = {.per_block = 64}});
    ASSERT_EQ(kernel.channels(), 64U);
    ASSERT_EQ(kernel.blocks(), 1U);
    for (std::uint64_t round = 0; round < 10; ++round) ask_all(kernel, round);
    for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(kernel.channel(i).call(i, patience), 2 * i);
}

// 1024 rings on a GPU; fewer where every block is a thread of this CPU.
TEST_P(WatchTest, manyBlocksWatch64ChannelsEach) {
    unsigned const blocks = on_gpu() ? 16 : 4;
    Numbers kernel(device(), {.blocks = blocks, .capacity = 4, .watched = {.per_block = 64}});
    ASSERT_EQ(kernel.channels(), blocks * 64);
    for (std::uint64_t round = 0; round < 3; ++round) ask_all(kernel, round);
}

// Catches an odd last channel, or one whose doorbell is a neighbour's.
TEST_P(WatchTest, anyNumberOfChannelsPerBlockIsServed) {
    for (unsigned const each : {2U, 3U, 31U, 33U, 63U}) {
        Numbers kernel(device(), {.blocks = 2, .capacity = 2, .watched = {.per_block = each}});
        ask_all(kernel, each);
        for (int i = 0; i < 5; ++i) {
            ASSERT_EQ(kernel.channel(2 * each - 1).call(7, patience), 14U) << each;
        }
    }
}

TEST_P(WatchTest, everyChannelMayHaveAThreadOfItsOwn) {
    constexpr unsigned threads = 4;
    Numbers kernel(device(), {.capacity = 4, .watched = {.per_block = threads}});
    std::vector<std::thread> callers;
    std::vector<int> wrong(threads, 0);
    for (unsigned t = 0; t < threads; ++t) {
        callers.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 200; ++i) {
                wrong[t] += kernel.channel(t).call(i + t, patience) == 2 * (i + t) ? 0 : 1;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, std::vector<int>(threads, 0));
}

// Catches a block that looks for a stop only after a number of sweeps, however long they take.
TEST_P(WatchTest, stopIsSeenBetweenRequestsThatTakeLong) {
    constexpr std::uint32_t each = 64;
    Memory const served = device().allocate(64);
    auto const count = [&] {
        return HostCached(served.range_sync())
            .load_word(static_cast<std::uint64_t const*>(served.host_ptr()));
    };
    PersistentKernel<Delayer, WatchedChannels> kernel(
        device(), {.capacity = each, .watched = {.per_block = 2}},
        Delayer{static_cast<std::uint64_t*>(served.device_ptr())});
    for (std::uint32_t i = 0; i < each; ++i) {
        (void)kernel.channel(0).submit(i, patience);
        (void)kernel.channel(1).submit(i, patience);
    }
    EXPECT_TRUE(eventually([&] { return count() != 0; }));
    kernel.stop(patience);
    EXPECT_LT(count(), 2 * each - 2);
}

// Fills channels while the block is held up, and finds the turns in which it served their requests.
class TurnsTest : public KernelTest {
   protected:
    static constexpr std::uint32_t capacity = 16;

    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        gate_.emplace(device());
        turns_ = device().allocate(64);
        kernel_.emplace(
            device(), KernelOptions{.capacity = capacity, .watched = {.per_block = 64}},
            InTurn{gate_->device_view(), static_cast<std::uint64_t*>(turns_.device_ptr())});
        kernel_->channel(0).abandon(kernel_->channel(0).submit({0, 1}, patience));
    }
    void TearDown() override {
        if (gate_) gate_->open(~std::uint64_t{0});
        kernel_.reset();
    }

    Tickets submit(unsigned channel, std::uint32_t count) {
        Tickets tickets;
        while (count-- != 0) tickets.push_back(kernel_->channel(channel).submit({}, patience));
        return tickets;
    }
    void open() { gate_->open(1); }
    std::vector<std::uint64_t> turns_of(unsigned channel, Tickets const& tickets) {
        std::vector<std::uint64_t> turns;
        for (Ticket const ticket : tickets) {
            turns.push_back(kernel_->channel(channel).wait(ticket, patience));
        }
        return turns;
    }

    // How many of `others` come between two neighbours of `turns`, at most.
    static long most_between(std::vector<std::uint64_t> const& turns,
                             std::vector<std::uint64_t> const& others) {
        long most = 0;
        for (std::size_t i = 1; i < turns.size(); ++i) {
            auto const between = [&](std::uint64_t turn) {
                return turns[i - 1] < turn && turn < turns[i];
            };
            most = std::max(most, std::count_if(others.begin(), others.end(), between));
        }
        return most;
    }

   private:
    std::optional<Gate> gate_;
    Memory turns_;
    std::optional<PersistentKernel<InTurn, WatchedChannels>> kernel_;
};
CARILLON_ON_EVERY_DEVICE(TurnsTest);

// The bound that serve_watch states. One lane goes through its channels in order; the lanes of a
// warp go through theirs in any order, so there the end of one sweep and the start of the next may
// meet.
TEST_P(TurnsTest, floodOfOneChannelDelaysAnotherByOneRequestAtATime) {
    Tickets const flood = submit(5, capacity);
    Tickets const few = submit(40, 4);
    open();
    auto const turns = turns_of(40, few);
    auto const others = turns_of(5, flood);
    EXPECT_LE(most_between(turns, others), on_gpu() ? 2 : 1);
    EXPECT_LE(std::count_if(others.begin(), others.end(), [&](auto t) { return t < turns[0]; }), 2);
}

TEST_P(TurnsTest, everySweepServesAtMostOneRequestOfEachOf64Channels) {
    std::vector<Tickets> flood(64);
    for (unsigned i = 0; i < 64; ++i) flood[i] = submit(i, capacity - 1);
    open();
    std::vector<std::vector<std::uint64_t>> turns;
    for (unsigned i = 0; i < 64; ++i) turns.push_back(turns_of(i, flood[i]));
    for (unsigned i = 0; i < 64; ++i) {
        ASSERT_TRUE(std::is_sorted(turns[i].begin(), turns[i].end())) << i;
        for (unsigned other = 0; other < 64; ++other) {
            if (other == i) continue;
            ASSERT_LE(most_between(turns[i], turns[other]), 2) << i << " and " << other;
        }
    }
}

// The host's ends of a channel without HostChannel, which never lets a ring of replies fill.
struct BareEnds {
    Producer<std::uint64_t, HostMapped, HostCached, TailDoorbell, OneThread, ToldPages> requests;
    HostConsumer<std::uint64_t> replies;
    FlagWriter<std::uint64_t, HostMapped> doorbell;

    BareEnds(Device const& device, ChannelMemory const& memory, unsigned index)
        : BareEnds(memory.host_view().channel(index), device.access(memory.device_memory()),
                   doorbells(memory.host_view()) + index) {}
    BareEnds(ChannelView const& view, HostMapped const& far, std::uint64_t* word)
        : requests(view.requests, far, HostCached(), TailDoorbell(word)),
          replies(view.replies, HostCached(), far),
          doorbell(word, far) {}

    static std::uint64_t* doorbells(ChannelTable const& channels) {
        StatusLine const* const status = channels.channel(0).status;
        EXPECT_TRUE(
            eventually([&] { return FlagReader<bool, HostCached>(&status->started).get(); }));
        return channels.doorbells(
            0, static_cast<unsigned>(HostCached().load_word(&status->doorbell_page)));
    }
    void ring(Sequence published) { doorbell.set(published); }
    std::uint64_t await_reply() {
        std::uint64_t reply = 0;
        EXPECT_TRUE(eventually([&] { return replies.try_pop(reply); }));
        return reply;
    }
    std::uint64_t call(std::uint64_t request) {
        EXPECT_TRUE(eventually([&] { return requests.try_push(request); }));
        return await_reply();
    }
};

class BareWatchTest : public KernelTest {
   protected:
    static constexpr std::uint32_t capacity = 4;

    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        memory_.emplace(device(), 3, capacity);
        using Body = detail::WatchBody<Doubled, std::uint64_t, std::uint64_t>;
        bool const oversubscribed = device().oversubscribed(1);
        kernel_ = launch(
            device(), LaunchShape{1, lanes_per_warp},
            Body{{memory_->device_view(), {20'000'000'000U, 0}, oversubscribed, false}, {}, 3});
    }
    void TearDown() override {
        if (!memory_) return;
        std::uint64_t* const stop = &memory_->host_view().channel(0).control->stop;
        FlagWriter<bool, HostMapped>(stop, device().access(memory_->device_memory())).set(true);
        EXPECT_TRUE(kernel_.wait(patience));
        EXPECT_EQ(HostCached().load_word(&view(0).status->ended), 1U);
    }

    [[nodiscard]] ChannelView view(unsigned index) const {
        return memory_->host_view().channel(index);
    }
    [[nodiscard]] BareEnds ends(unsigned index) const { return {device(), *memory_, index}; }

   private:
    std::optional<ChannelMemory> memory_;
    RunningKernel kernel_;
};
CARILLON_ON_EVERY_DEVICE(BareWatchTest);

// Catches a block that waits for room, and a request that is taken without room for its reply.
TEST_P(BareWatchTest, fullReplyRingOfOneChannelDoesNotStopTheOthers) {
    BareEnds stuck = ends(0);
    BareEnds neighbour = ends(1);
    BareEnds other = ends(2);
    for (std::uint64_t i = 0; i < 2 * capacity; ++i) {
        ASSERT_TRUE(eventually([&] { return stuck.requests.try_push(i); })) << i;
    }
    for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_EQ(neighbour.call(i), 2 * i);
        ASSERT_EQ(other.call(i), 2 * i);
    }
    for (std::uint64_t i = 0; i < 2 * capacity; ++i) ASSERT_EQ(stuck.await_reply(), 2 * i);
}

// Catches a block that takes a doorbell for a line, or waits for the line.
TEST_P(BareWatchTest, doorbellBeforeItsLineIsRemembered) {
    BareEnds early = ends(0);
    BareEnds other = ends(2);
    ASSERT_EQ(early.call(1), 2U);
    early.ring(2);
    ASSERT_EQ(other.call(2), 4U);
    ASSERT_EQ(other.call(3), 6U);
    ASSERT_EQ(early.call(5), 10U);
}

// Catches a credit that is kept while the channel is silent.
TEST_P(BareWatchTest, creditComesBackWhenAChannelHasNoNews) {
    BareEnds caller = ends(1);
    ASSERT_EQ(caller.call(1), 2U);
    EXPECT_TRUE(eventually([&] { return HostCached().load_word(view(1).requests.credit) == 1; }));
}

TEST_P(WatchTest, stopEndsABlockThatIsBusy) {
    Numbers kernel(device(), {.capacity = 4, .watched = {.per_block = 64}});
    for (unsigned i = 0; i < 64; ++i) {
        for (int request = 0; request < 4; ++request) {
            (void)kernel.channel(i).submit(1, patience);
        }
    }
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
    EXPECT_THROW((void)kernel.channel(63).call(1, patience), StoppedError);
}

TEST_P(WatchTest, abandonedReplyIsDropped) {
    Numbers kernel(device(), {.capacity = 2, .watched = {.per_block = 3}});
    for (std::uint64_t i = 0; i < 20; ++i) {
        kernel.channel(1).abandon(kernel.channel(1).submit(i, patience));
        ASSERT_EQ(kernel.channel(1).call(i + 1, patience), 2 * (i + 1));
        ASSERT_EQ(kernel.channel(2).call(i, patience), 2 * i);
    }
}

// Catches a doorbell that is compared in 32 bits, and one that the memory's first number left
// behind.
TEST_P(WatchTest, callersMemoryServesOneKernelAfterAnotherThroughTheWrapOfTheTags) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 6, 4, just_below_the_tags_wrap);
    for (int round = 0; round < 2; ++round) {
        Numbers kernel(device(), {.blocks = 2, .memory = memory, .watched = {.per_block = 3}});
        for (std::uint64_t i = 0; i < 10; ++i) ask_all(kernel, i);
        (void)kernel.channel(4).submit(99, patience);  // is not there for the next one
    }
}

TEST_P(WatchTest, numbersOfChannelsThatCannotBeAreUsageErrors) {
    for (unsigned const each : {0U, 1U, 65U, ~0U}) {
        CARILLON_EXPECT_ERROR(Numbers(device(), {.watched = {.per_block = each}}), UsageError,
                              "channels per block requested: one warp watches 2 to 64");
    }
    CARILLON_EXPECT_ERROR(Numbers(device(), {.blocks = 1U << 30, .watched = {.per_block = 64}}),
                          UsageError, "1073741824 blocks are too many");
    auto const memory = std::make_shared<ChannelMemory>(device(), 5, 4);
    CARILLON_EXPECT_ERROR(
        Numbers(device(), {.blocks = 2, .memory = memory, .watched = {.per_block = 3}}), UsageError,
        "but the memory has");
    Numbers kernel(device(), {.watched = {.per_block = 2}});
    CARILLON_EXPECT_ERROR(kernel.channel(2), UsageError, "there is no channel 2");
}

class NonCoherentWatchTest : public KernelTest {
   protected:
    void SetUp() override {
        if (GetParam() == std::string("emulated")) GTEST_SKIP() << "memfd memory is coherent";
        KernelTest::SetUp();
        if (!IsSkipped()) open({.force_non_coherent = true});
    }
};
CARILLON_ON_EVERY_DEVICE(NonCoherentWatchTest);

TEST_P(NonCoherentWatchTest, doorbellsAreFlushed) {
    Numbers kernel(device(), {.blocks = 2, .capacity = 4, .watched = {.per_block = 5}});
    for (std::uint64_t round = 0; round < 20; ++round) ask_all(kernel, round);
}

}  // namespace
}  // namespace carillon::test
