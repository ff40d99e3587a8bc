// SPDX-License-Identifier: Apache-2.0
// The mailbox: its meaning, its accesses, and the bound of each look.
#include "carillon/detail/protocol/mailbox_protocol.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "support/accesses.hpp"
#include "support/recording.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Entries = std::vector<std::string>;

template <class T>
struct MailboxMemory {
    explicit MailboxMemory(std::uint32_t slots = 4, Sequence first = 1)
        : lines(slots * mailbox_lines<T>),
          view{lines.data(), &newest, slots, mailbox_lines<T>, first} {
        format_mailbox(view);
    }

    std::vector<Line> lines;
    std::uint64_t newest = 0;
    MailboxView view;
};

HostMapped cached_far() { return HostMapped({StoreKind::cached, PublishMode::one_step}); }

// Others may read the padding.
TEST(MailboxPaddingTest, paddingOfAValueIsZero) {
    struct Padded {
        char tag;
        std::uint64_t value;
        char end;
    };
    Padded value;
    std::memset(&value, 0xff, sizeof(value));
    value.tag = 1;
    value.value = 2;
    value.end = 3;
    MailboxMemory<Padded> memory;
    MailboxWriter<Padded, HostMapped> writer(memory.view, cached_far());
    writer.set(value);
    for (Quad const& quad : memory.view.slot(1)->quads) {
        EXPECT_LE(static_cast<std::uint32_t>(quad.low), 3U);
        EXPECT_LE(static_cast<std::uint32_t>(quad.high), 3U);
    }
}

template <class T>
class MailboxSizeTest : public testing::Test {};
using MailboxSizes =
    testing::Types<SizedBytes<1>, SizedBytes<4>, SizedBytes<12>, SizedBytes<31>, SizedBytes<32>,
                   SizedBytes<33>, SizedBytes<47>, SizedBytes<48>, SizedBytes<49>, SizedBytes<1000>,
                   SizedBytes<4095>, SizedBytes<4096>, SizedWords<8>, SizedWords<48>,
                   SizedWords<4096>>;
TYPED_TEST_SUITE(MailboxSizeTest, MailboxSizes);

// Catches a byte that is left out or lands in another place, and a tag that wraps.
TYPED_TEST(MailboxSizeTest, everyByteOfEveryValueComesThrough) {
    for (Sequence const first : {Sequence{1}, just_below_the_tags_wrap}) {
        MailboxMemory<TypeParam> memory(4, first);
        MailboxWriter<TypeParam, HostMapped> writer(memory.view, cached_far());
        MailboxReader<TypeParam, HostCached> reader(memory.view);
        // The bytes on both sides of the value must not change.
        struct {
            unsigned char before[16];
            TypeParam value;
            unsigned char after[16];
        } place{};
        EXPECT_FALSE(reader.refresh(place.value));
        for (std::uint64_t n = 0; n < 12; ++n) {
            writer.set(TypeParam::make(n));
            ASSERT_TRUE(reader.refresh(place.value)) << n;
            EXPECT_EQ(place.value, TypeParam::make(n)) << n;
            EXPECT_FALSE(reader.refresh(place.value)) << n;
            EXPECT_EQ(place.value, TypeParam::make(n)) << n;
        }
        for (int i = 0; i < 16; ++i) EXPECT_TRUE(place.before[i] == 0 && place.after[i] == 0);
    }
}

using TwoLines = SizedWords<64>;  // two lines
using OneLine = SizedWords<16>;

// The log calls the word `newest` the credit, and each line a slot.
class MailboxTest : public testing::Test {
   protected:
    void set(std::uint64_t number) { writer_.set(TwoLines::make(number)); }
    // The number of the value that a look finds, which must be whole; 0 for none.
    static std::uint64_t look(MailboxReader<TwoLines, RecordingNear>& reader) {
        TwoLines value = TwoLines::make(77);
        if (!reader.refresh(value)) {
            EXPECT_EQ(value, TwoLines::make(77)) << "touched though nothing is new";
            return 0;
        }
        EXPECT_TRUE(value.whole());
        return value.number();
    }
    std::uint64_t look() { return look(reader_); }
    [[nodiscard]] std::uint64_t* word_of(Sequence version, std::size_t i) const {
        Quad& quad = memory_.view.slot(version)[i / 8].quads[i % 8 / 2];
        return i % 2 == 0 ? &quad.low : &quad.high;
    }

    MailboxMemory<TwoLines> memory_;
    AccessLog log_{RingView{memory_.lines.data(), &memory_.newest, 4, 1}};
    MailboxWriter<TwoLines, RecordingFar> writer_{memory_.view, RecordingFar(&log_)};
    MailboxReader<TwoLines, RecordingNear> reader_{memory_.view, RecordingNear(&log_)};
};

// Also catches a payload that a store in two steps puts under the tag of the version before it.
TEST_F(MailboxTest, setIsItsLinesTheHintAndOneCommitOfEach) {
    set(1);
    EXPECT_EQ(log_.take(),
              (Entries{"far.store_line slot 2", "  over tag 1 tag 1", "far.store_line slot 3",
                       "  over tag 1 tag 1", "far.store_word credit", "far.commit 128 slot 2",
                       "far.commit 8 credit"}));
    set(2);
    EXPECT_EQ(log_.take().at(1), "  over tag 2 tag 2");
}

TEST_F(MailboxTest, dataAreReleasedBeforeTheValue) {
    writer_.set(TwoLines::make(1), OutOfLine::written);
    Entries const entries = log_.take();
    EXPECT_EQ(entries.at(0), "far.release");
    EXPECT_EQ(entries.at(1), "far.store_line slot 2");
}

TEST_F(MailboxTest, lookThatBringsNothingIsOneLoadOfAWord) {
    EXPECT_EQ(look(), 0U);
    EXPECT_EQ(log_.take(), Entries{"near.load_word credit"});
    set(1);
    EXPECT_EQ(look(), 1U);
    (void)log_.take();
    EXPECT_EQ(look(), 0U);
    EXPECT_EQ(log_.take(), Entries{"near.load_word credit"});
}

TEST_F(MailboxTest, lookThatBringsAValueLoadsEachOfItsLinesOnce) {
    set(1);
    set(2);
    (void)log_.take();
    EXPECT_EQ(look(), 2U);
    EXPECT_EQ(log_.take(),
              (Entries{"near.load_word credit", "near.load_line slot 4", "near.load_line slot 5"}));
}

TEST_F(MailboxTest, latestOfManyWinsAndEveryReaderGetsIt) {
    MailboxReader<TwoLines, RecordingNear> other = reader_;
    for (std::uint64_t n = 1; n <= 30; ++n) {
        set(n);
        if (n % 7 != 0) continue;
        EXPECT_EQ(look(), n);
        EXPECT_EQ(look(), 0U);
    }
    EXPECT_EQ(look(), 30U);
    EXPECT_EQ(look(other), 30U);
    EXPECT_EQ(look(other), 0U);
}

// Catches a word whose tag is not compared, whichever word is missing.
TEST_F(MailboxTest, valueOfWhichAnyWordIsMissingIsNotTaken) {
    set(1);
    ASSERT_EQ(look(), 1U);
    set(2);
    for (std::size_t i = 0; i != 16; ++i) {
        std::uint64_t const right = *word_of(2, i);
        *word_of(2, i) = right ^ (std::uint64_t{1} << (32 + i));
        EXPECT_EQ(look(), 0U) << "word " << i;
        *word_of(2, i) = right;
    }
    EXPECT_EQ(look(), 2U);
}

// The hint came, the lines did not.
TEST_F(MailboxTest, hintThatComesEarlyIsNotTakenForItsValue) {
    for (std::uint64_t n = 1; n <= 5; ++n) set(n);
    memory_.newest = 7;
    EXPECT_EQ(look(), 5U);  // the newest that is there
    EXPECT_EQ(look(), 0U);
    set(6);
    memory_.newest = 7;
    EXPECT_EQ(look(), 6U);
    set(7);
    EXPECT_EQ(look(), 7U);
}

// The lines came, the hint did not: the value is seen when it has.
TEST_F(MailboxTest, hintThatComesLateOnlyDelays) {
    for (std::uint64_t n = 1; n <= 6; ++n) set(n);
    memory_.newest = 4;
    EXPECT_EQ(look(), 4U);
    for (std::uint64_t n = 7; n <= 9; ++n) set(n);
    memory_.newest = 5;
    EXPECT_EQ(look(), 0U);  // it was overwritten by number 9
    memory_.newest = 9;
    EXPECT_EQ(look(), 9U);
}

// Catches a writer that writes where readers are reading.
TEST_F(MailboxTest, valueBeforeIsThereWhileTheNextIsWritten) {
    for (std::uint64_t n = 1; n <= 9; ++n) set(n);
    for (Sequence version = 9; version > 6; --version) {  // as if it had only just been begun
        for (std::size_t i = 0; i != 16; ++i) *word_of(version, i) = 0;
        MailboxReader<TwoLines, RecordingNear> newcomer = reader_;
        EXPECT_EQ(look(newcomer), version - 1);
    }
}

TEST_F(MailboxTest, valueIsNeverOlderThanTheOneBefore) {
    for (std::uint64_t n = 1; n <= 4; ++n) set(n);
    EXPECT_EQ(look(), 4U);
    memory_.newest = 3;
    EXPECT_EQ(look(), 0U);
    memory_.newest = 5;  // early
    EXPECT_EQ(look(), 0U);
}

// Catches a reader that knows versions by their tags alone.
TEST_F(MailboxTest, newValueUnderTheTagOfTheOldOneIsSeen) {
    set(1);
    EXPECT_EQ(look(), 1U);
    for (Sequence const away : {Sequence{1} << 31, Sequence{1} << 32, Sequence{3} << 32}) {
        MailboxView view = memory_.view;
        view.first = away + 1;
        MailboxWriter<TwoLines, RecordingFar>(view, RecordingFar(&log_)).set(TwoLines::make(away));
        EXPECT_EQ(look(), away);
        EXPECT_EQ(look(), 0U);
    }
}

// Zeroed memory has the tag of version 2^32.
TEST(MailboxFormatTest, slotThatWasNeverWrittenHasNoValue) {
    MailboxMemory<OneLine> memory(4, just_below_the_tags_wrap);
    memory.newest = Sequence{1} << 32;
    MailboxReader<OneLine, HostCached> reader(memory.view);
    OneLine value = OneLine::make(77);
    EXPECT_FALSE(reader.refresh(value));
    EXPECT_EQ(value, OneLine::make(77));
}

// Sets `pace` values at each look at a line, and counts the loads.
class HurriedNear {
   public:
    struct State {
        std::function<void()> set;
        std::uint32_t pace;
        std::uint32_t loads = 0;
    };
    explicit HurriedNear(State* state) : state_(state) {}

    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        return load_line(from, quads);
    }
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        Line const line = HostCached().load_line(from, quads);
        ++state_->loads;
        for (std::uint32_t i = 0; i != state_->pace; ++i) state_->set();
        return line;
    }
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        ++state_->loads;
        return detail::cpu::load_word(from);
    }

   private:
    State* state_;
};

// Catches a reader that goes on until it has a value, and one that mixes the values that it passes.
TEST(MailboxPaceTest, readerThatIsAlwaysLappedGivesUpAndNoOtherDoes) {
    using Value = SizedWords<4 * 32>;
    for (std::uint32_t const slots : {2U, 4U, 8U}) {
        for (std::uint32_t pace = 0; pace <= 2 * slots; ++pace) {
            MailboxMemory<Value> memory(slots);
            MailboxWriter<Value, HostMapped> writer(memory.view, cached_far());
            std::uint64_t number = 0;
            HurriedNear::State state{[&] { writer.set(Value::make(++number)); }, pace};
            MailboxReader<Value, HurriedNear> reader(memory.view, HurriedNear(&state));
            // The slot is written again while the reader is between its first line and its last.
            bool const lapped = 3 * pace >= slots;
            std::uint64_t last = 0;
            for (int i = 0; i < 50; ++i) {
                state.set();
                state.loads = 0;
                Value value = Value::make(77);
                bool const news = reader.refresh(value);
                EXPECT_EQ(news, !lapped) << slots << " slots, " << pace << " at a time";
                EXPECT_LE(state.loads, (slots + 1) * (1 + mailbox_lines<Value>));
                ASSERT_TRUE(value.whole());
                if (!news) continue;
                EXPECT_GT(value.number(), last);
                last = value.number();
            }
        }
    }
}

constexpr unsigned team = 3;

// CPU threads that read together, as a block's do.
struct Team {
    static inline thread_local unsigned index = 0;
    static inline std::barrier<> meeting{team};

    static unsigned thread_rank() { return index; }
    static unsigned size() { return team; }
    static void sync() { meeting.arrive_and_wait(); }
    template <class Name, class Shared>
    static Shared& shared(Shared& /*own*/) {
        static Shared value;
        return value;
    }
};

// Catches a thread that decides differently from the others, and a part that no thread copies. The
// threads of a team find lines missing at once and all write the same word, which the thread
// sanitizer would report.
TEST(MailboxTeamTest, threadsThatReadTogetherSeeTheSame) {
    if (CARILLON_THREAD_SANITIZER != 0) GTEST_SKIP() << "threads write the same word at once";
    using Value = SizedWords<1000>;
    constexpr std::uint64_t last = 20'000;
    MailboxMemory<Value> memory;
    Value value{};
    std::vector<std::uint64_t> seen[team];
    std::vector<std::thread> threads;
    for (unsigned i = 0; i != team; ++i) {
        threads.emplace_back([&, i] {
            Team::index = i;
            MailboxReader<Value, HostCached, Team> reader(memory.view);
            std::uint64_t number = 0;
            // All count the same looks, and give up together.
            for (unsigned looks = 0; number != last && looks != 1U << 24; ++looks) {
                if (!reader.refresh(value)) continue;
                number = value.number();
                seen[i].push_back(value.whole() ? number : 0);
            }
        });
    }
    MailboxWriter<Value, HostMapped> writer(memory.view, cached_far());
    for (std::uint64_t number = 1; number <= last; ++number) {
        writer.set(Value::make(number));
        if (number % 64 == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    for (unsigned i = 0; i != team; ++i) {
        EXPECT_EQ(seen[i], seen[0]);
        EXPECT_EQ(seen[i].back(), last);
        for (std::size_t k = 1; k < seen[i].size(); ++k) EXPECT_GT(seen[i][k], seen[i][k - 1]);
    }
}

// Every pair of sides and every way to store.
class MailboxOverTest : public AccessTest {};
INSTANTIATE_TEST_SUITE_P(Over, MailboxOverTest, testing::ValuesIn(all_accesses()),
                         test_name<Access>);

TEST_P(MailboxOverTest, latestValueIsSeen) {
    MailboxMemory<TwoLines> memory(2);
    MailboxWriter<TwoLines, AnyFar> writer(memory.view, GetParam().far_of(GetParam().producer));
    MailboxReader<TwoLines, AnyNear> reader(memory.view, Access::near_of(GetParam().consumer));
    for (std::uint64_t number = 1; number < 10; ++number) {
        writer.set(TwoLines::make(number));
        TwoLines value{};
        ASSERT_TRUE(reader.refresh(value));
        EXPECT_EQ(value, TwoLines::make(number));
    }
}

}  // namespace
}  // namespace carillon::test
