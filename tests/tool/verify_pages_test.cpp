// SPDX-License-Identifier: Apache-2.0
// `carillon verify` reports messages that are lost or come twice while a ring's pages are chosen.
#include <gtest/gtest.h>

#include "kernels/verify/pages.hpp"
#include "verify/litmus.hpp"

namespace carillon::tool {
using namespace detail;
namespace {

// The first round of a ring whose messages are there before its consumer.
class VerifyPagesTest : public testing::Test {
   protected:
    static constexpr std::uint32_t count = messages_of(0, 1);

    // Sends so many messages, the last one with the payload of `ring`.
    void send(std::uint32_t messages, std::uint32_t ring = 0) {
        HostMapped const far = device_.access(memory_.device_memory());
        HostProducer<Numbered> producer(host().requests, far, HostCached());
        for (std::uint32_t i = 1; i <= messages; ++i) {
            ASSERT_TRUE(producer.try_push(Numbered::make(i == messages ? ring : 0, i)));
        }
    }
    [[nodiscard]] ChannelView host() const { return memory_.host_view().channel(0); }
    // The device's findings in the round.
    [[nodiscard]] Findings taken() {
        std::uint64_t const stop = 1;
        Findings findings;
        store_data(&host().control->stop, 1);
        TakeRounds<Numbered>{memory_.device_view(), 1'000'000,
                             Station{&findings, &stop, Bound{1'000'000'000, true}}}(0);
        EXPECT_EQ(host().status->ended, 1U) << "the round is over";
        EXPECT_NE(*host().requests.pages.told & known_pages, 0U);
        return findings;
    }

    Device device_ = Device::open("emulated");
    ChannelMemory memory_{device_, 1, 256};
};

TEST_F(VerifyPagesTest, aRoundWhoseMessagesAllCameIsNoViolation) {
    send(count);
    Findings const findings = taken();
    EXPECT_EQ(findings.checks, count);
    EXPECT_EQ(findings.violations, 0U);
}

TEST_F(VerifyPagesTest, aMessageThatDoesNotComeIsReported) {
    send(count - 1);
    Findings const findings = taken();
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::missing);
    EXPECT_EQ(findings.evidence[0].seen, count);
}

TEST_F(VerifyPagesTest, aMessageTooManyIsReported) {
    send(count + 1);
    Findings const findings = taken();
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::twice);
}

TEST_F(VerifyPagesTest, aMessageOfAnotherRingIsReported) {
    send(count, 1);
    Findings const findings = taken();
    ASSERT_EQ(findings.violations, 1U);
    EXPECT_EQ(findings.evidence[0].fault, Fault::content);
    EXPECT_EQ(findings.evidence[0].line, count);
}

// Catches a choice that is the same in every round, in which the control finds nothing.
TEST_F(VerifyPagesTest, anyPageIsNowThisOneAndNowThatOne) {
    unsigned second = 0;
    std::uint64_t words[2][8] = {};
    for (std::uint64_t round = 0; round < 64; ++round) {
        second += AnyPage()(DeviceNear(), words[0], sizeof(words[0]), round << 32U | 1U);
    }
    EXPECT_GT(second, 8U);
    EXPECT_LT(second, 56U);
}

TEST(VerifyPagesRunTest, messagesComeOnceHoweverThePagesAreChosen) {
    for (unsigned const threads : {1U, 2U}) {
        VerifyStage const stage{Device::open("emulated"), threads};
        std::uint64_t overlapping = 0;
        for (PageTest const& test : {PageTest{64}, PageTest{256}, PageTest{256, true}}) {
            Findings const findings = run_pages(stage, test, std::chrono::milliseconds(50));
            EXPECT_EQ(findings.violations, 0U);
            EXPECT_GT(findings.rounds, threads) << "rings were begun again";
            EXPECT_GT(findings.checks, findings.rounds);
            overlapping += findings.overlapping;
        }
        EXPECT_GT(overlapping, 0U) << "no producer was told while it sent";
    }
}

TEST(VerifyPagesRunTest, aProducerThatWritesOnePageAloneIsReported) {
    VerifyStage const stage{Device::open("emulated"), 1};
    for (PageTest const& test : {PageTest{64, false, true}, PageTest{256, true, true}}) {
        Findings findings;
        for (int tries = 0; tries < 50 && findings.violations == 0; ++tries) {
            findings += run_pages(stage, test, std::chrono::milliseconds(50));
        }
        EXPECT_GT(findings.violations, 0U);
        EXPECT_GT(findings.rounds, 0U);
    }
}

}  // namespace
}  // namespace carillon::tool
