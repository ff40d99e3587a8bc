// SPDX-License-Identifier: Apache-2.0
// `carillon verify` reports torn answers of a device that sends them as bulk copies.
#include <gtest/gtest.h>

#include "kernels/verify/bulk.hpp"
#include "support/ring_memory.hpp"
#include "verify/litmus.hpp"

namespace carillon::tool {
using namespace detail;
namespace {

using test::RingMemory;
using Message = NumberedLines<2>;

constexpr std::uint32_t ring = 3;
constexpr std::uint32_t slots = 2;

constexpr Sequence first = test::just_below_the_tags_wrap;

// Two slots, and the taker of their messages.
struct Answers {
    explicit Answers(OldQuad old = OldQuad::whole) : old_quad(old) {}

    [[nodiscard]] static Packed<Message> message(Sequence number) {
        return pack(Message::make(ring, number), tag_of(number));
    }
    [[nodiscard]] Quad& quad(Sequence number, std::size_t index) {
        Line* const slot = &memory.slot((number - 1) & (slots - 1));
        return slot[index / quads_per_line].quads[index % quads_per_line];
    }
    // The first `quads` quads of a message.
    void write(Sequence number, std::size_t quads = quads_of<Message>) {
        Packed<Message> const all = message(number);
        for (std::size_t i = 0; i < quads; ++i) {
            quad(number, i) = all.line[i / quads_per_line].quads[i % quads_per_line];
        }
    }
    [[nodiscard]] bool take() { return taker.try_take(findings); }
    // All before `number` come and are taken.
    void take_until(Sequence number) {
        while (taker.next() != number) {
            write(taker.next());
            ASSERT_TRUE(take());
        }
        findings = {};
    }

    OldQuad old_quad;
    RingMemory memory{slots, first, slot_lines_of<Message>};
    Findings findings;
    AnswerTaker<Message> taker{memory.view(), ring, old_quad, HostCached(),
                               HostMapped({StoreKind::cached, PublishMode::one_step})};
};

TEST(VerifyBulkTest, wholeAnswersInOrderAreNoViolation) {
    Answers answers;
    for (Sequence number = first; number < first + 6; ++number) {
        EXPECT_FALSE(answers.take());
        answers.write(number);
        EXPECT_TRUE(answers.take());
    }
    EXPECT_EQ(answers.taker.next(), first + 6);
    EXPECT_GE(answers.findings.checks, 6 * quads_of<Message>);
    EXPECT_EQ(answers.findings.violations, 0U);
    EXPECT_EQ(answers.findings.partly_seen, 0U);
}

TEST(VerifyBulkTest, anAnswerInPiecesIsCountedAndNotTaken) {
    Answers answers;
    for (std::size_t quads = 1; quads < quads_of<Message>; ++quads) {
        answers.write(first, quads);
        EXPECT_FALSE(answers.take());
        EXPECT_EQ(answers.findings.partly_seen, quads);
    }
    answers.write(first);
    EXPECT_TRUE(answers.take());
    EXPECT_EQ(answers.findings.violations, 0U);
}

// Message `number` comes with an old word beside the new tag of its quad `index`.
void expect_torn(Sequence number, std::size_t index, OldQuad old) {
    Answers answers(old);
    answers.take_until(number);
    std::uint64_t const before = answers.quad(number, index).low;
    answers.write(number);
    answers.quad(number, index).low = before;
    EXPECT_TRUE(answers.take());
    ASSERT_EQ(answers.findings.violations, 2U) << "the quad, and the message that was taken";
    Evidence const& torn = answers.findings.evidence[0];
    EXPECT_EQ(torn.fault, Fault::torn);
    EXPECT_EQ(torn.ring, ring);
    EXPECT_EQ(torn.line, number);
    EXPECT_EQ(torn.word, 2 * index);
    EXPECT_EQ(torn.seen, before);
    EXPECT_EQ(answers.findings.evidence[1].fault, Fault::content);
}

// Catches a look that leaves a quad out.
TEST(VerifyBulkTest, everyQuadWithANewTagAndAnOldWordIsReported) {
    for (Sequence const number : {first, first + slots}) {
        for (std::size_t i = 0; i < quads_of<Message>; ++i) {
            expect_torn(number, i, OldQuad::whole);
            expect_torn(number, i, OldQuad::new_payload);
        }
    }
}

// A device that stores a quad at once never stores its payload ahead of its tag.
TEST(VerifyBulkTest, anOldTagBesideANewWordIsReportedWhereAQuadIsOneStore) {
    Packed<Message> const later = Answers::message(first + slots);
    for (OldQuad const old : {OldQuad::whole, OldQuad::new_payload}) {
        Answers answers(old);
        answers.take_until(first + slots);
        answers.quad(first + slots, 5).low = later.line[1].quads[1].low;
        EXPECT_FALSE(answers.take());
        EXPECT_EQ(answers.findings.violations, old == OldQuad::whole ? 1U : 0U);
    }
}

TEST(VerifyBulkTest, aQuadOfAnotherMessageIsReported) {
    Answers answers;
    answers.quad(first, 1) = Answers::message(first + 1).line[0].quads[1];
    EXPECT_FALSE(answers.take());
    ASSERT_EQ(answers.findings.violations, 1U);
    EXPECT_EQ(answers.findings.evidence[0].word, 2U);
}

TEST(VerifyBulkRunTest, answersOfEveryFormAreWhole) {
    VerifyStage const stage{Device::open("emulated"), 1};
    auto const names = answer_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        Findings const findings = run_bulk(stage, {i}, std::chrono::milliseconds(30));
        EXPECT_EQ(findings.violations, 0U) << names[i];
        EXPECT_GT(findings.checks, 0U) << names[i];
    }
}

// The control may fail or not: on one processor a quad is seldom seen between two stores.
TEST(VerifyBulkRunTest, theControlEnds) {
    VerifyStage const stage{Device::open("emulated"), 1};
    for (std::size_t i = 0; i < answer_names().size(); ++i) {
        EXPECT_GT(run_bulk(stage, {i, true}, std::chrono::milliseconds(30)).checks, 0U);
    }
}

}  // namespace
}  // namespace carillon::tool
