// SPDX-License-Identifier: Apache-2.0
// Mailboxes between the CPU and a kernel: every value is checked for being whole, in both
// directions, and values are set faster than they can be read.
#include "carillon/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"
#include "support/sanitized.hpp"
#include "support/sized.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
using namespace detail;

using Gains = SizedWords<48>;    // two lines
using Table = SizedWords<4096>;  // the largest there is
using GainsIn = Mailbox<Gains, Direction::to_device>;
using GainsOut = Mailbox<Gains, Direction::to_host>;
using TableIn = Mailbox<Table, Direction::to_device>;
using TableOut = Mailbox<Table, Direction::to_host>;

// The value after which a body ends; earlier values are numbered from 1 on.
inline constexpr std::uint64_t final_number = std::uint64_t{1} << 40;

// A reader's findings, in host memory; one for each block.
struct alignas(64) Seen {
    std::uint64_t mixed;      // values that were not whole
    std::uint64_t backwards;  // values that were not newer than the one before
    std::uint64_t last;       // the newest number, told at once
};

class SeenTally {
   public:
    CARILLON_HD void add(std::uint64_t number, bool whole) {
        if (!whole) ++seen_.mixed;
        if (number <= seen_.last) ++seen_.backwards;
        seen_.last = number;
    }
    [[nodiscard]] CARILLON_HD std::uint64_t last() const { return seen_.last; }
    CARILLON_HD void tell(Seen* to) const {
        DeviceFar const far;
        far.store_word(&to->mixed, seen_.mixed);
        far.store_word(&to->backwards, seen_.backwards);
        far.store_word(&to->last, seen_.last);
    }

   private:
    Seen seen_{};
};

// One thread reads the host's values until it has the final one; block 0 sets each for the host.
struct GainsBody {
    GainsIn::DeviceEnd in;
    OwnedByBlock<GainsOut::DeviceEnd> out;
    Seen* seen;

    CARILLON_HD void operator()(unsigned block) {
        BodyPatience body_patience;
        SeenTally tally;
        Gains gains{};
        while (tally.last() != final_number && body_patience.more()) {
            if (!in.refresh(gains)) continue;
            body_patience = {};
            tally.add(gains.number(), gains.whole());
            if (auto* const own = out.get()) own->set(gains);
            tally.tell(seen + block);
        }
    }
};

// State that the threads of a block share.
struct SharedTable {
    Table table;
};
struct SharedCount {
    std::uint32_t wrong;
};

// All threads of a block read together, and each checks its part.
struct TableBody {
    TableIn::BlockEnd in;
    Seen* seen;

    CARILLON_HD void operator()(unsigned block) {
        DeviceClock const clock;
        SeenTally tally;
        auto& shared = block::shared<SharedTable, struct Newest>();
        auto& count = block::shared<SharedCount, struct Count>();
        // Every thread counts the same polls: all give up together.
        for (std::uint32_t polls = 0; tally.last() != final_number && polls < 1U << 26;) {
            if (!in.refresh(shared.table)) {
                clock.idle(++polls);
                continue;
            }
            polls = 0;
            if (block::thread_rank() == 0) count.wrong = 0;
            block::sync();
            std::uint64_t const number = shared.table.number();
            for (unsigned i = block::thread_rank(); i < sizeof(Table) / 8; i += block::size()) {
                if (shared.table.word[i] != Table::expected(number, i)) count.wrong = 1;
            }
            block::sync();
            tally.add(number, count.wrong == 0);
            if (block::thread_rank() == 0) tally.tell(seen + block);
            block::sync();
        }
    }
};

// Sets `last` values as fast as it can.
struct SetTablesBody {
    TableOut::DeviceEnd out;
    std::uint64_t last;

    CARILLON_HD void operator()(unsigned /*block*/) {
        Table table;
        for (std::uint64_t number = 1; number <= last; ++number) {
            for (std::size_t i = 0; i < sizeof(Table) / 8; ++i) {
                table.word[i] = Table::expected(number, i);
            }
            out.set(table);
        }
    }
};

// Hands a value's data on: a reader that sees the value sees them.
struct DataBody {
    GainsIn::DeviceEnd in;
    GainsOut::DeviceEnd out;
    std::uint64_t const* data;
    std::uint64_t* answer;  // in host memory
    std::uint64_t last;

    CARILLON_HD void operator()(unsigned /*block*/) {
        BodyPatience body_patience;
        Gains gains{};
        while (gains.number() != last && body_patience.more()) {
            if (!in.refresh(gains) || gains.number() == 0) continue;  // the initial one has none
            DeviceFar().store_word(answer, 2 * *static_cast<std::uint64_t const volatile*>(data));
            out.set(gains, OutOfLine::written);
        }
    }
};

namespace {

constexpr unsigned table_threads = 96;

class MailboxDeviceTest : public KernelTest {
   protected:
    static void expect_right(Seen const* seen, std::uint64_t last) {
        HostCached const near;
        EXPECT_EQ(near.load_word(&seen->last), last);
        EXPECT_EQ(near.load_word(&seen->mixed), 0U);
        EXPECT_EQ(near.load_word(&seen->backwards), 0U);
    }

    // Readers in `blocks` blocks: of single values, of many in a row, and every fourth time until
    // the last of them has arrived, without any further one.
    template <class In, class Start>
    void expect_values(In& in, std::uint64_t rounds, unsigned blocks, Start&& start) {
        using Value = decltype(in_value(in));
        Memory const words = device().allocate_host(blocks * sizeof(Seen));
        auto* const seen = static_cast<Seen*>(words.host_ptr());
        auto const all_have = [&](std::uint64_t number) {
            bool all = true;
            for (unsigned block = 0; block < blocks; ++block) {
                all = all && HostCached().load_word(&seen[block].last) == number;
            }
            return all;
        };
        std::uint64_t number = 1;
        in.set(Value::make(number));
        RunningKernel const kernel = start(static_cast<Seen*>(words.device_ptr()));
        for (unsigned round = 0; round < rounds; ++round) {
            for (unsigned i = 0; i < round % 64; ++i) in.set(Value::make(++number));
            if (round % 4 != 0) continue;
            EXPECT_TRUE(eventually([&] { return all_have(number); })) << number;
            if (HasFailure()) break;
        }
        in.set(Value::make(final_number));
        EXPECT_TRUE(kernel.wait(patience));
        for (unsigned block = 0; block < blocks; ++block) expect_right(seen + block, final_number);
    }
    template <class T>
    static T in_value(Mailbox<T, Direction::to_device> const&);

    // Sends gains, and reads back the values that the first reader has seen.
    void expect_gains(std::uint64_t rounds, unsigned blocks, MailboxOptions const& options) {
        GainsIn in(device(), Gains::make(0), options);
        GainsOut out(device(), Gains::make(0), options);
        std::atomic<bool> stop = false;
        SeenTally tally;
        std::thread back([&] {
            Gains gains{};
            EXPECT_TRUE(eventually([&] {
                if (out.refresh(gains) && gains.number() != 0) {  // the initial one is no news
                    tally.add(gains.number(), gains.whole());
                }
                return tally.last() == final_number || stop;
            }));
        });
        expect_values(in, rounds, blocks, [&](Seen* seen) {
            return launch(device(), blocks,
                          GainsBody{in.device_handle(), {0, out.device_handle()}, seen});
        });
        stop = HasFailure();
        back.join();
        Seen seen{};
        tally.tell(&seen);
        expect_right(&seen, final_number);
    }

    void expect_tables(std::uint64_t rounds, unsigned blocks, MailboxOptions const& options) {
        TableIn in(device(), Table::make(0), options);
        expect_values(in, rounds, blocks, [&](Seen* seen) {
            return launch(device(), blocks, TableBody{in.block_handle(), seen}, table_threads);
        });
    }

    // Values there and back, each with a word of data in memory of its own.
    void expect_data() {
        GainsIn in(device(), Gains::make(0));
        GainsOut out(device(), Gains::make(0));
        Memory const data = device().allocate(64);
        Memory const answer = device().allocate_host(64);
        constexpr std::uint64_t last = 100;
        auto const kernel =
            launch(device(), 1,
                   DataBody{in.device_handle(), out.device_handle(),
                            static_cast<std::uint64_t const*>(data.device_ptr()),
                            static_cast<std::uint64_t*>(answer.device_ptr()), last});
        HostMapped const far = device().access(data);
        Gains back{};
        for (std::uint64_t number = 1; number <= last; ++number) {
            far.store_word(static_cast<std::uint64_t*>(data.host_ptr()), 3 * number);
            data.flush(0, 8);
            in.set(Gains::make(number), OutOfLine::written);
            ASSERT_TRUE(eventually([&] { return out.refresh(back) && back.number() == number; }))
                << number;
            ASSERT_EQ(HostCached().load_word(static_cast<std::uint64_t const*>(answer.host_ptr())),
                      6 * number);
        }
        EXPECT_TRUE(kernel.wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(MailboxDeviceTest);
CARILLON_ON_HOST_MEMORY(MailboxDeviceTest);

TEST_P(MailboxDeviceTest, hammeredReadersSeeWholeValuesInOrderAndTheLast) {
    expect_gains(repeated(10'000), 1, {});
}

TEST_P(MailboxDeviceTest, anyNumberOfReadersTwoSlotsAndTheTagsWrap) {
    expect_gains(repeated(2'000), 3,
                 {.capacity = 2, .for_tests = {.first = just_below_the_tags_wrap}});
}

TEST_P(MailboxDeviceTest, blockReadsTheLargestValue) { expect_tables(repeated(1'000), 1, {}); }

TEST_P(MailboxDeviceTest, blocksReadTheLargestValueThroughMoreSlots) {
    expect_tables(500, 2, {.capacity = 16, .for_tests = {.first = just_below_the_tags_wrap}});
}

TEST_P(MailboxDeviceTest, largestValueToTheHostAndSeveralThreadsThere) {
    constexpr std::uint64_t last = 2'000;
    TableOut out(device(), Table::make(0));
    auto const kernel = launch(device(), 1, SetTablesBody{out.device_handle(), last});
    Seen seen[2]{};
    std::vector<std::thread> threads;
    for (Seen& mine : seen) {
        threads.emplace_back([&mine, reader = out.reader()]() mutable {
            Table table{};
            SeenTally tally;
            EXPECT_TRUE(eventually([&] {
                if (reader.refresh(table) && table.number() != 0) {
                    tally.add(table.number(), table.whole());
                }
                return tally.last() == last;
            }));
            tally.tell(&mine);
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (Seen const& each : seen) expect_right(&each, last);
    EXPECT_TRUE(kernel.wait(patience));
}

TEST_P(MailboxDeviceTest, everyWayToStore) {
    for (HostStores const stores : all_stores()) {
        if (!why_not(stores).empty()) continue;
        if (on_gpu() && stores.kind == StoreKind::cached) continue;
        SCOPED_TRACE(name_of(stores));
        device().set_stores(stores);
        expect_gains(200, 1, {});
        expect_tables(30, 1, {});
    }
}

TEST_P(MailboxDeviceTest, whoeverSeesTheValueSeesItsData) {
    expect_data();
    open({.force_read_back = true});
    expect_data();
}

TEST_P(MailboxDeviceTest, throughMemoryThatIsNotCoherent) {
    if (GetParam() == std::string("emulated")) {
        GTEST_SKIP() << "memfd memory cannot be non-coherent";
    }
    open({.force_non_coherent = true});
    expect_gains(100, 2, {});
    expect_tables(30, 1, {});
    expect_data();
}

TEST_P(MailboxDeviceTest, initialValueIsThereBeforeAnythingIsSet) {
    GainsOut out(device(), Gains::make(5));
    auto other = out.reader();
    Gains gains{};
    EXPECT_TRUE(out.refresh(gains));
    EXPECT_EQ(gains, Gains::make(5));
    EXPECT_FALSE(out.refresh(gains));
    EXPECT_EQ(gains, Gains::make(5));
    gains = {};
    EXPECT_TRUE(other.refresh(gains));
    EXPECT_EQ(gains, Gains::make(5));
}

TEST_P(MailboxDeviceTest, refusesOptionsThatMakeNoSense) {
    Gains const gains{};
    CARILLON_EXPECT_ERROR(GainsIn(device(), gains, {.capacity = 1}), UsageError,
                          "Mailbox: a capacity of 1");
    CARILLON_EXPECT_ERROR(GainsOut(device(), gains, {.capacity = 3}), UsageError,
                          "Mailbox: a capacity of 3");
    CARILLON_EXPECT_ERROR(GainsIn(device(), gains, {.for_tests = {.first = 0}}), UsageError,
                          "Mailbox: a first number of 0 is not");
}

}  // namespace
}  // namespace carillon::test
