// SPDX-License-Identifier: Apache-2.0
// The counts of a channel's client, and how a reader handles garbage in them.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "support/eventually.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;

struct CountedEcho {
    CARILLON_HD int operator()(int const& value) const { return value; }
};

namespace {

constexpr std::uint32_t counted_slots = 8;

void expect_counters(ChannelCounters const& seen, ChannelCounters const& wanted) {
    EXPECT_EQ(seen.submitted, wanted.submitted);
    EXPECT_EQ(seen.answered, wanted.answered);
    EXPECT_EQ(seen.taken, wanted.taken);
    EXPECT_EQ(seen.dropped, wanted.dropped);
    EXPECT_EQ(seen.stalls, wanted.stalls);
    EXPECT_EQ(seen.depth, wanted.depth);
}

// A channel, and an end on the device that the tests step.
class CountersTest : public testing::TestWithParam<Sequence> {
   protected:
    void answer(std::uint32_t count) {
        int request = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_TRUE(kernel_.requests.try_pop(request));
            ASSERT_TRUE(kernel_.replies.try_push(request));
        }
    }
    [[nodiscard]] ChannelCounters counters() const { return memory_->counters(0); }

    Device device_ = Device::open("emulated");
    std::shared_ptr<ChannelMemory> memory_ =
        std::make_shared<ChannelMemory>(device_, 1, counted_slots, GetParam());
    Channel<int, int> channel_{device_, memory_, 0U, HostWait(HostWait::Style::yield)};
    ChannelView view_ = memory_->device_view().channel(0);
    DeviceChannel<int, int> kernel_{view_.requests, view_.replies};
};

TEST_P(CountersTest, requestIsCountedWhenItIsSentAnsweredAndTaken) {
    expect_counters(counters(), {});
    std::vector<Ticket> tickets;
    tickets.reserve(5);
    for (int i = 0; i < 5; ++i) tickets.push_back(channel_.submit(i, patience));
    expect_counters(counters(), {.submitted = 5, .depth = 5});
    for (std::uint64_t answered = 1; answered <= 3; ++answered) {
        answer(1);
        expect_counters(counters(), {.submitted = 5, .answered = answered, .depth = 5});
    }
    EXPECT_EQ(channel_.wait(tickets[0], patience), 0);
    expect_counters(counters(), {.submitted = 5, .answered = 3, .taken = 1, .depth = 4});
    // The replies before it leave the ring with it.
    EXPECT_EQ(channel_.wait(tickets[2], patience), 2);
    expect_counters(channel_.counters(), {.submitted = 5, .answered = 3, .taken = 3, .depth = 2});
}

TEST_P(CountersTest, laps) {
    for (std::uint64_t i = 1; i <= std::uint64_t{3} * counted_slots; ++i) {
        Ticket const ticket = channel_.submit(1, patience);
        answer(1);
        EXPECT_EQ(channel_.wait(ticket, patience), 1);
        expect_counters(counters(), {.submitted = i, .answered = i, .taken = i});
    }
}

TEST_P(CountersTest, requestThatMeetsAFullRingIsCountedOnce) {
    std::array<int, counted_slots + 2> const row{};
    Tickets tickets = channel_.try_submit_n(row);
    EXPECT_EQ(tickets.size(), counted_slots);
    EXPECT_EQ(counters().stalls, 1U);
    for (int tries = 0; tries < 10; ++tries) EXPECT_FALSE(channel_.try_submit(1));
    EXPECT_EQ(counters().stalls, 1U) << "it is the same request";
    answer(counted_slots);
    std::array<int, counted_slots> replies{};
    channel_.take_n(tickets, replies, patience);
    std::optional<Ticket> const ticket = channel_.try_submit(1);
    EXPECT_TRUE(ticket);
    EXPECT_LT(channel_.try_submit_n(std::span(row).first(counted_slots)).size(), counted_slots);
    EXPECT_EQ(counters().stalls, 2U);
}

TEST_P(CountersTest, replyThatIsGivenUpIsDropped) {
    Ticket const ticket = channel_.submit(1, patience);
    channel_.abandon(ticket);
    expect_counters(counters(), {.submitted = 1, .dropped = 1, .depth = 1});
    EXPECT_THROW((void)channel_.call(1, std::chrono::nanoseconds(0)), TimeoutError);
    expect_counters(counters(), {.submitted = 2, .dropped = 2, .depth = 2});
}

// Any number is shown, and no memory beyond the words is read.
TEST_P(CountersTest, garbageIsShown) {
    CounterWords& words = *memory_->host_view().counters(0);
    std::uint64_t const first = GetParam();
    std::uint64_t const values[] = {0,           1,     first,       first + counted_slots,
                                    first + 100, ~0ULL, 1ULL << 63U, (1ULL << 63U) - 1};
    for (std::uint64_t const submitted : values) {
        for (std::uint64_t const taken : values) {
            words = {submitted, taken, ~0ULL, ~0ULL};
            ChannelCounters const seen = counters();
            EXPECT_EQ(seen.submitted, submitted - (first - 1));
            EXPECT_EQ(seen.taken, taken - (first - 1));
            EXPECT_LE(seen.depth, counted_slots);
            EXPECT_LE(seen.answered - seen.taken, seen.depth);
            EXPECT_EQ(seen.stalls, ~0ULL);
            EXPECT_EQ(seen.dropped, ~0ULL);
        }
    }
}

TEST_P(CountersTest, countsEndWithAReset) {
    (void)channel_.submit(1, patience);
    memory_->reset();
    expect_counters(counters(), {});
}

// The second: tags wrap outstanding.
INSTANTIATE_TEST_SUITE_P(First, CountersTest,
                         testing::Values(Sequence{1}, (Sequence{1} << 32U) - 2));

TEST(CounterLinesTest, everyChannelCountsOnALineOfItsOwn) {
    Device const device = Device::open("emulated");
    ChannelMemory memory(device, 3, ChannelShape{4, 1, 4});
    std::array<ChannelLocation, 3> const locations{{{0, 2}, {1, 0}, {2, 1}}};
    memory.arrange(locations);
    ChannelTable const table = memory.host_view();
    std::set<std::byte*> lines;
    for (unsigned i = 0; i < 3; ++i) {
        auto* const at = reinterpret_cast<std::byte*>(table.counters(i));
        auto* const end =
            reinterpret_cast<std::byte*>(table.channel(i).status) + sizeof(StatusLine);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % sizeof(Line), 0U);
        EXPECT_GT(at, end);
        EXPECT_LT(at, end + 4096);
        EXPECT_LE(at + sizeof(Line), table.in_host_memory + memory.host_memory().size());
        lines.insert(at);
    }
    EXPECT_EQ(lines.size(), 3U);
}

TEST(KernelCountersTest, kernelOfThisProcessIsCountedToo) {
    PersistentKernel<CountedEcho> kernel(Device::open("emulated"),
                                         {.blocks = 2, .idle = IdlePolicy::park()});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(kernel.channel(1).call(i, patience), i);
    expect_counters(kernel.channel(1).counters(), {.submitted = 10, .answered = 10, .taken = 10});
    expect_counters(kernel.channel(0).counters(), {});
    EXPECT_TRUE(eventually([&] { return kernel.beats(0).seen > 1; }));
    EXPECT_THROW((void)kernel.beats(2), UsageError);
}

// The result of two looks in a row at words that nobody writes meanwhile.
char const* twice(detail::CounterWatch& watch, CounterWords& words) {
    EXPECT_EQ(watch.look(words, counted_slots), nullptr);
    return watch.look(words, counted_slots);
}

TEST(CounterWatchTest, whatNoClientWritesIsFoundAtTheSecondLook) {
    struct {
        std::uint64_t submitted;
        std::uint64_t taken;
        char const* wrong;
    } const cases[] = {{100, 100, nullptr},         {108, 100, nullptr},
                       {109, 100, "outstanding"},   {100, 101, "more replies"},
                       {~0ULL, 100, "outstanding"}, {100, ~0ULL, "more replies"},
                       {99, 99, "backwards"},       {0, 0, "backwards"},
                       {100, 0, "backwards"},       {99, 100, "backwards"}};
    for (auto const& each : cases) {
        detail::CounterWatch watch;
        watch.begin(101);
        CounterWords words{each.submitted, each.taken, ~0ULL, ~0ULL};
        char const* const wrong = twice(watch, words);
        ASSERT_EQ(wrong != nullptr, each.wrong != nullptr) << each.submitted << ", " << each.taken;
        if (wrong != nullptr) {
            EXPECT_NE(std::string(wrong).find(each.wrong), std::string::npos) << wrong;
        }
    }
}

TEST(CounterWatchTest, oneLookIsNoneAndNothingBeforeTheLeaseCounts) {
    detail::CounterWatch watch;
    watch.begin(1);
    CounterWords words = no_counts(1);
    for (unsigned i = 0; i < 10; ++i) {
        words.taken = words.submitted + 1;
        EXPECT_EQ(watch.look(words, counted_slots), nullptr);
        words.submitted = words.taken;
        EXPECT_EQ(watch.look(words, counted_slots), nullptr);
    }
    words = no_counts(1);
    EXPECT_NE(twice(watch, words), nullptr);
    watch.begin(1);
    EXPECT_EQ(twice(watch, words), nullptr);
}

// Many calls went through between one word and the next.
TEST(CounterWatchTest, whatWasReadWhileTheClientWentOnIsNotWrong) {
    detail::CounterWatch watch;
    watch.begin(1);
    for (Sequence taken = 0; taken < 1'000'000; taken += 1'000) {
        EXPECT_EQ(watch.look({taken, taken, taken}, counted_slots), nullptr);
        EXPECT_EQ(watch.look({taken, taken + 8, taken}, counted_slots), nullptr);
        EXPECT_EQ(watch.look({taken + 1, taken + 700, taken + 692}, counted_slots), nullptr);
        EXPECT_EQ(watch.look({taken + 700, taken + 800, taken + 900}, counted_slots), nullptr);
    }
    detail::CounterWatch::Read const too_many{2'000'000, 2'000'700, 2'000'691};
    EXPECT_EQ(watch.look(too_many, counted_slots), nullptr);
    EXPECT_NE(watch.look(too_many, counted_slots), nullptr);
}

// Counts as a client does, as fast as it can, with the ring full and empty in turns.
TEST(CounterWatchTest, whoCountsAsClientsDoIsNeverAccused) {
    detail::CounterWatch watch;
    watch.begin(1);
    CounterWords words = no_counts(1);
    std::jthread const client([&](std::stop_token const& stop) {
        Sequence submitted = 0;
        while (!stop.stop_requested()) {
            for (unsigned i = 0; i < counted_slots; ++i) {
                CounterWords::store(words.submitted, ++submitted);
            }
            for (Sequence taken = submitted - counted_slots; taken < submitted;) {
                CounterWords::store(words.taken, ++taken);
            }
        }
    });
    char const* wrong = nullptr;
    unsigned looks = 0;
    EXPECT_TRUE(eventually([&] {
        for (unsigned i = 0; i < 1000 && wrong == nullptr; ++i, ++looks) {
            wrong = watch.look(words, counted_slots);
        }
        return wrong != nullptr ||
               (looks > 1'000'000 && CounterWords::load(words.submitted) > 10'000'000);
    }));
    EXPECT_EQ(wrong, nullptr) << wrong;
}

}  // namespace
}  // namespace carillon::test
