// SPDX-License-Identifier: Apache-2.0
// `carillon verify` reports faults: each litmus test gets one.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/verify/data.hpp"
#include "kernels/verify/lines.hpp"
#include "kernels/verify/mpmc.hpp"
#include "kernels/verify/watch_litmus.hpp"
#include "support/ring_memory.hpp"
#include "verify/litmus.hpp"
#include "verify/verify_report.hpp"

namespace carillon::tool {
using namespace detail;
namespace {

using test::RingMemory;

HostMapped const stores({StoreKind::cached, PublishMode::one_step});

using HostChecked = CheckedConsumer<HostCached, HostMapped>;

[[nodiscard]] HostChecked checked(RingMemory& memory, std::uint32_t ring = 0) {
    return HostChecked(memory.view(), ring, HostCached(), stores);
}

// Polls often enough for the look at lines that overwrote others.
void take_all(HostChecked& consumer, Sequence end, Findings& findings) {
    for (int polls = 0; polls < 1000 && !consumer.at_end(end); ++polls) {
        (void)consumer.try_check(findings);
    }
}

[[nodiscard]] std::uint64_t push(RingMemory& memory, std::uint32_t ring, int count) {
    Producer<Numbered, HostMapped, IgnoredCredit> producer(memory.view(), stores);
    for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(producer.try_push(Numbered::make(ring, producer.next())));
    }
    return producer.next();
}

TEST(VerifyLinesTest, linesInOrderAreNoViolation) {
    RingMemory memory(8, test::just_below_the_tags_wrap);
    HostChecked consumer = checked(memory, 3);
    Findings findings;
    take_all(consumer, push(memory, 3, 8), findings);
    EXPECT_EQ(findings.checks, 8U);
    EXPECT_EQ(findings.violations, 0U);
}

TEST(VerifyLinesTest, aLineOfAnotherRingIsReported) {
    RingMemory memory(8);
    HostChecked consumer = checked(memory, 3);
    Findings findings;
    take_all(consumer, push(memory, 4, 1), findings);
    ASSERT_EQ(findings.evidence_count(), 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::content);
    EXPECT_EQ(findings.evidence[0].line, 1U);
}

TEST(VerifyLinesTest, oneChangedBitOfALineIsReported) {
    RingMemory memory(8);
    std::uint64_t const end = push(memory, 0, 2);
    memory.slot(1).quads[2].low ^= std::uint64_t{1} << 40U;  // words 6 and 7 of 4 bytes
    HostChecked consumer = checked(memory);
    Findings findings;
    take_all(consumer, end, findings);
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].line, 2U);
    EXPECT_EQ(findings.evidence[0].word, 3U);
    EXPECT_EQ(findings.evidence[0].expected ^ findings.evidence[0].seen, std::uint64_t{1} << 40U);
}

// Ten lines into four slots: 1 to 6 are gone, and the rest is still checked.
TEST(VerifyLinesTest, linesThatWereOverwrittenAreReported) {
    for (Sequence const first : {Sequence{1}, test::just_below_the_tags_wrap}) {
        RingMemory memory(4, first);
        HostChecked consumer = checked(memory);
        std::uint64_t const end = push(memory, 0, 10);
        Findings findings;
        take_all(consumer, end, findings);
        EXPECT_TRUE(consumer.at_end(end));
        ASSERT_GT(findings.violations, 0U);
        EXPECT_EQ(findings.evidence[0].fault, Fault::overwritten);
        EXPECT_EQ(findings.evidence[0].line, first);
        EXPECT_EQ(findings.checks, findings.violations + 4);
    }
}

TEST(VerifyLinesTest, aLineThatNeverComesIsReported) {
    RingMemory memory(4);
    Findings findings;
    checked(memory, 2).give_up(5, findings);
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::missing);
    EXPECT_EQ(findings.evidence[0].expected, 5U);
    EXPECT_EQ(findings.evidence[0].seen, 1U);
}

// The whole test, its control in the place of the discipline. It ends although lines are lost.
TEST(VerifyLinesTest, aProducerThatIgnoresTheCreditIsReported) {
    VerifyStage const stage{Device::open("emulated"), 1};
    for (Direction const direction : {Direction::to_device, Direction::to_host}) {
        LineTest broken{direction, 4, 1, true, true};
        Findings const findings = run_lines(stage, broken, std::chrono::milliseconds(50));
        EXPECT_GT(findings.violations, 0U);
        EXPECT_GT(findings.evidence_count(), 0U);
    }
}

// The arrivals of two producers, in ordinary memory, with a window of eight messages.
class ArrivalMemory {
   public:
    static constexpr std::uint32_t window = 8;

    ArrivalMemory() : last_(std::size_t{2} * window) {
        for (std::size_t i = 0; i < last_.size(); ++i) last_[i] = i % window;
    }
    [[nodiscard]] Arrivals view() { return {&end_, &told_, last_.data(), window, 2}; }

   private:
    std::vector<std::uint64_t> last_;
    std::uint64_t end_ = 0;
    std::uint64_t told_ = 0;
};

class VerifyMpmcTest : public testing::Test {
   protected:
    using Checker = ArrivalChecker;

    // Hands the message to `checker` as the next one that came.
    void take(Checker& checker, Sealed const& message) {
        checker.check(message, ++sequence_, findings_);
    }
    void take(Checker& checker, std::uint64_t producer, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t n = first; n <= last; ++n) take(checker, Sealed::make(producer, n));
    }
    // The only violation is `fault`, of `producer`'s message `number`.
    void expect_only(Fault fault, std::uint32_t producer, std::uint64_t number) const {
        ASSERT_EQ(findings_.violations, 1U);
        EXPECT_EQ(findings_.evidence[0].fault, fault);
        EXPECT_EQ(findings_.evidence[0].ring, producer);
        EXPECT_EQ(findings_.evidence[0].line, number);
    }

    ArrivalMemory memory_;
    Checker first_{memory_.view()};
    Checker second_{memory_.view()};
    Findings findings_;
    Sequence sequence_ = 0;
};

TEST_F(VerifyMpmcTest, messagesThatConsumersShareOutAreNoViolation) {
    for (std::uint64_t n = ArrivalMemory::window; n < 50; n += 5) {
        take(first_, 0, n, n + 1);
        take(second_, 1, n, n + 4);
        take(second_, 0, n + 2, n + 4);
    }
    EXPECT_EQ(findings_.violations, 0U);
    EXPECT_GT(findings_.checks, 0U);
}

TEST_F(VerifyMpmcTest, aMessageOfPartsOfTwoIsReported) {
    for (std::size_t quad = 0; quad < quads_per_line; ++quad) {
        Line line = pack(Sealed::make(1, 8), 1);
        line.quads[quad] = pack(Sealed::make(0, 9), 1).quads[quad];
        findings_ = {};
        take(first_, unpack<Sealed>(line));
        ASSERT_EQ(findings_.violations, 1U) << quad;
        EXPECT_EQ(findings_.evidence[0].fault, Fault::content);
    }
}

TEST_F(VerifyMpmcTest, aMessageOfNobodyIsReported) {
    take(first_, Sealed::make(2, 8));
    expect_only(Fault::content, 2, 1);
}

TEST_F(VerifyMpmcTest, aMessageThatComesToTwoConsumersIsReported) {
    take(first_, 1, 8, 12);
    take(second_, 1, 12, 12);
    expect_only(Fault::twice, 1, 12);
}

TEST_F(VerifyMpmcTest, aMessageThatIsLeftOutIsReported) {
    take(first_, 1, 8, 11);
    take(first_, 1, 13, 19);
    EXPECT_EQ(findings_.violations, 0U);
    take(first_, 1, 20, 28);
    expect_only(Fault::missing, 1, 12);
}

TEST_F(VerifyMpmcTest, aMessageAfterALaterOneOfItsProducerIsReported) {
    take(first_, 1, 8, 8);
    take(first_, 1, 10, 10);
    take(first_, 0, 8, 8);
    take(first_, 1, 9, 9);
    expect_only(Fault::order, 1, 9);
}

// The whole test: at most as many threads as it is told, and at least two.
TEST(VerifyMpmcRunTest, threadsAndBlocksThatShareARingKeepTheDiscipline) {
    for (unsigned const threads : {1U, 3U}) {
        VerifyStage const stage{Device::open("emulated"), threads};
        for (bool const slow : {false, true}) {
            Findings const findings =
                run_mpmc(stage, {64, 8, 1, slow}, std::chrono::milliseconds(50));
            EXPECT_EQ(findings.violations, 0U);
            EXPECT_GT(findings.checks, 64U) << "the ring was filled once at least";
        }
    }
}

TEST(VerifyMpmcRunTest, producersThatIgnoreTheRoomAreReported) {
    VerifyStage const stage{Device::open("emulated"), 2};
    Findings const findings =
        run_mpmc(stage, {64, 8, 1, true, true}, std::chrono::milliseconds(50));
    EXPECT_GT(findings.violations, 0U);
    EXPECT_GT(findings.evidence_count(), 0U);
}

constexpr Early never_early{0, 0};
constexpr Early two_step{1, 1};

[[nodiscard]] Findings look_at(Line const& line, Early early) {
    Findings findings;
    look_at_line(&line, 0, false, early, findings);
    return findings;
}

TEST(VerifyTornTest, aWholeLineIsNoViolation) {
    EXPECT_EQ(look_at(versioned_line(7), never_early).violations, 0U);
    EXPECT_EQ(look_at(versioned_line(7), never_early).checks, quads_per_line);
    EXPECT_EQ(look_at(Line{}, never_early).checks, 0U);
}

TEST(VerifyTornTest, aQuadOfTwoVersionsIsReported) {
    for (std::uint32_t i = 0; i < quads_per_line; ++i) {
        Line line = versioned_line(7);
        line.quads[i].low = versioned_line(6).quads[i].low;
        for (Early const early : {never_early, two_step}) {
            Findings const findings = look_at(line, early);
            ASSERT_EQ(findings.violations, 1U);
            EXPECT_EQ(findings.evidence[0].fault, Fault::torn);
            EXPECT_EQ(findings.evidence[0].line, 7U);
            EXPECT_EQ(findings.evidence[0].word, 4 * i);
        }
    }
}

TEST(VerifyTornTest, theWordBesideTheTagIsChecked) {
    Line line = versioned_line(7);
    line.quads[1].high ^= 1;
    EXPECT_EQ(look_at(line, two_step).violations, 1U);
}

// Between the two steps a quad holds the next payload under its previous tag.
TEST(VerifyTornTest, onlyTwoStepsMayShowAPayloadBeforeItsTag) {
    Line const line = with_tag(versioned_line(8), 7);
    EXPECT_EQ(look_at(line, two_step).violations, 0U);
    EXPECT_EQ(look_at(line, never_early).violations, quads_per_line);
    EXPECT_EQ(look_at(with_tag(versioned_line(9), 7), two_step).violations, quads_per_line);
}

TEST(VerifyTornTest, aLineInPiecesIsCountedAndNoViolation) {
    Line line = versioned_line(7);
    line.quads[0] = versioned_line(8).quads[0];
    EXPECT_EQ(look_at(line, never_early).partly_seen, 1U);
    EXPECT_EQ(look_at(line, never_early).violations, 0U);
    line = versioned_line(8);
    line.quads[0] = versioned_line(7).quads[0];  // the older one was read first: time has passed
    EXPECT_EQ(look_at(line, never_early).partly_seen, 0U);
}

// A batch may be stored by another instruction than a line.
TEST(VerifyTornTest, theFormThatBatchesAreStoredInIsUsedOnlyForThem) {
    if (CARILLON_THREAD_SANITIZER != 0 || !supported(StoreKind::avx2)) GTEST_SKIP();
    Device const device = Device::open("emulated");
    device.set_stores({StoreKind::sse2, PublishMode::one_step, StoreKind::avx2});
    auto const form = [&](Storing storing) {
        auto const forms = store_forms(device, storing);
        return *std::ranges::find(forms, "avx2 one-step", &StoreForm::name);
    };
    EXPECT_FALSE(form(Storing::lines).used);
    EXPECT_TRUE(form(Storing::batches).used);
    EXPECT_EQ(form(Storing::batches).stores.kind, StoreKind::sse2);
    EXPECT_EQ(form(Storing::batches).stores.bulk_kind(), StoreKind::avx2);
}

TEST(VerifyTornTest, noFormOfBatchesThatTheLibraryUsesIsTorn) {
    VerifyStage const stage{Device::open("emulated"), 1};
    for (StoreForm const& form : store_forms(stage.device, Storing::batches)) {
        Findings const findings = run_torn(stage, form, std::chrono::milliseconds(20));
        EXPECT_GT(findings.checks, 0U) << form.name;
        if (form.used) {
            EXPECT_EQ(findings.violations, 0U) << form.name;
        }
    }
}

TEST(VerifyDataTest, aWordThatIsNotThereYetIsReported) {
    RingMemory names(4);
    RingMemory receipts(4);
    std::vector<std::uint64_t> data(4 * data_words);
    DataSender<HostMapped, HostCached> sender(names.view(), receipts.view(), data.data(),
                                              OutOfLine::written, stores);
    DataReceiver<HostCached, HostMapped> receiver(names.view(), receipts.view(), data.data(), 0,
                                                  HostCached(), stores);
    auto const nothing = [](void const*, std::size_t) {};
    Findings findings;
    ASSERT_TRUE(sender.try_send(nothing));
    ASSERT_TRUE(receiver.try_receive(findings));
    EXPECT_EQ(findings.violations, 0U);
    ASSERT_TRUE(sender.try_receipt());

    ASSERT_TRUE(sender.try_send(nothing));
    data[2 * data_words] = 0;
    ASSERT_TRUE(receiver.try_receive(findings));
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::stale_data);
    EXPECT_EQ(findings.evidence[0].line, 2U);
    EXPECT_EQ(findings.evidence[0].expected, versioned_word(2, 0));
}

// Runs a watching body over memory with a fault in it; the kernel is told to stop beforehand.
template <class Body>
[[nodiscard]] Findings watched(Body body) {
    Findings findings;
    std::uint64_t const stop = 1;
    body.station = Station{&findings, &stop, Bound{1'000'000'000, true}};
    body(0);
    return findings;
}

TEST(VerifyOrderTest, anOlderFirstLineIsReported) {
    Line first = versioned_line(6);
    Line const second = versioned_line(7);
    Findings const findings = watched(WatchPairs{&first, &second, 1, {}});
    EXPECT_EQ(findings.violations, findings.checks);
    ASSERT_GT(findings.violations, 0U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::order);
    EXPECT_EQ(findings.evidence[0].expected, 7U);
    EXPECT_EQ(findings.evidence[0].seen, 6U);
    first = versioned_line(8);
    EXPECT_EQ(watched(WatchPairs{&first, &second, 1, {}}).violations, 0U);
}

TEST(VerifyOrderTest, dataOlderThanTheirFlagAreReported) {
    Line flag{};
    flag.quads[0].low = 7;
    std::vector<std::uint64_t> data;
    for (std::uint32_t i = 0; i < WatchFlags::words; ++i) data.push_back(versioned_word(7, i));
    EXPECT_EQ(watched(WatchFlags{&flag, data.data(), 1, {}}).violations, 0U);
    data[9] = versioned_word(6, 9);
    Findings const findings = watched(WatchFlags{&flag, data.data(), 1, {}});
    ASSERT_GT(findings.violations, 0U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::stale_data);
    EXPECT_EQ(findings.evidence[0].word, 9U);
}

TEST(VerifyTest, theEmulatedDeviceKeepsTheDiscipline) {
    double share = 0;
    VerifyResult const result =
        run_verify(Device::open("emulated"), {1, 1}, [&](double done) { share = done; });
    EXPECT_EQ(result.violations(), 0U) << verify_verdict(result);
    EXPECT_DOUBLE_EQ(share, 1.0);
    for (TestReport const& each : result.tests) EXPECT_GT(each.findings.checks, 0U) << each.name;
    EXPECT_EQ(result.mapping.conclusion(), Mapping::cached);
}

}  // namespace
}  // namespace carillon::tool
