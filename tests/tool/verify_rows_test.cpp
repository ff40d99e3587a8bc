// SPDX-License-Identifier: Apache-2.0
// `carillon verify` reports data that are older than the line of a row that names them.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "kernels/verify/rows.hpp"
#include "support/ring_memory.hpp"
#include "verify/litmus.hpp"

namespace carillon::tool {
using namespace detail;
namespace {

using test::RingMemory;

class VerifyRowsTest : public testing::Test {
   protected:
    static constexpr std::uint32_t capacity = 64;

    // Sends so many messages at once.
    void send(std::uint32_t count) {
        auto const nothing = [](void const*, std::size_t) {};
        ASSERT_EQ(sender_.try_send_row<longest_row>(nothing), count);
    }
    [[nodiscard]] std::uint64_t& word(std::uint64_t number, std::uint32_t index) {
        return data_[(number & (capacity - 1)) * data_words + index];
    }

    RingMemory names_{capacity};
    RingMemory receipts_{capacity};
    std::vector<std::uint64_t> data_ = std::vector<std::uint64_t>(data_words_of_ring(capacity));
    DataSender<HostMapped, HostCached> sender_{
        names_.view(), receipts_.view(), data_.data(), OutOfLine::written,
        HostMapped({StoreKind::cached, PublishMode::one_step})};
    RowReceiver<DeviceNear> receiver_{names_.view(), receipts_.view(), data_.data(), 2};
    Findings findings_;
};

TEST_F(VerifyRowsTest, rowsWhoseDataAreThereAreNoViolation) {
    for (int lap = 0; lap < 3; ++lap) {
        send(longest_row);
        send(longest_row);
        auto const nothing = [](void const*, std::size_t) {};
        EXPECT_EQ(sender_.try_send_row<longest_row>(nothing), 0U) << "half the slots are taken";
        while (receiver_.try_receive(findings_)) {
        }
        while (sender_.try_receipt()) {
        }
    }
    EXPECT_EQ(findings_.checks, 6 * longest_row);
    EXPECT_EQ(findings_.rounds, 6U);
    EXPECT_EQ(findings_.violations, 0U);
}

// Catches a check of the first message of a row alone, or of the one that has the acquire.
TEST_F(VerifyRowsTest, anOldWordOfAnyMessageOfARowIsReported) {
    send(longest_row);
    for (std::uint64_t number = 1; number <= longest_row; ++number) word(number, 0) = 0;
    ASSERT_TRUE(receiver_.try_receive(findings_));
    EXPECT_EQ(findings_.violations, longest_row);
    for (std::uint32_t i = 0; i < findings_.evidence_count(); ++i) {
        EXPECT_EQ(findings_.evidence[i].fault, Fault::stale_data);
        EXPECT_EQ(findings_.evidence[i].ring, 2U);
        EXPECT_EQ(findings_.evidence[i].line, i + 1);
        EXPECT_EQ(findings_.evidence[i].expected, versioned_word(i + 1, 0));
    }
}

// Rows go across the end of the ring, for which a plain producer needs the credit of a stripe.
TEST_F(VerifyRowsTest, rowsOfARingThatConsumersShareAreChecked) {
    SharedRowReceiver shared(names_.view(), receipts_.view(), data_.data(), 2);
    for (std::uint64_t sent = 0; sent < 3 * capacity; sent += longest_row) {
        send(longest_row);
        while (shared.try_receive(findings_)) {
        }
        while (sender_.try_receipt()) {
        }
    }
    EXPECT_EQ(findings_.checks, 3 * capacity);
    EXPECT_GT(findings_.rounds, 0U);
    EXPECT_EQ(findings_.violations, 0U);
    send(longest_row);
    word(3 * capacity + 3, 0) = 0;
    while (shared.try_receive(findings_)) {
    }
    ASSERT_EQ(findings_.violations, 1U);
    EXPECT_EQ(findings_.evidence[0].fault, Fault::stale_data);
    EXPECT_EQ(findings_.evidence[0].line, 3 * capacity + 3);
}

// Sends a row, once, between the control's look at the data and that at the lines.
struct SendingNear : DeviceNear {
    static inline std::function<void()> send;

    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads) const {
        if (send) std::exchange(send, nullptr)();
        return DeviceNear::load_line_ahead(from, quads);
    }
};

TEST_F(VerifyRowsTest, wordsThatWereReadAheadOfTheirLineAreReported) {
    RowReceiver<SendingNear, true> early(names_.view(), receipts_.view(), data_.data(), 2);
    send(longest_row);
    ASSERT_TRUE(early.try_receive(findings_));
    EXPECT_EQ(findings_.violations, 0U) << "they were there";
    SendingNear::send = [&] { send(longest_row); };
    ASSERT_TRUE(early.try_receive(findings_));
    EXPECT_EQ(findings_.violations, longest_row);
    EXPECT_EQ(findings_.evidence[0].fault, Fault::stale_data);
    EXPECT_EQ(findings_.evidence[0].line, longest_row + 1);
    EXPECT_EQ(findings_.evidence[0].seen, 0U);
}

// The whole test, and its controls, which must end.
TEST(VerifyRowsRunTest, dataOfRowsAreThere) {
    VerifyStage const stage{Device::open("emulated"), 1};
    DataTest test{Direction::to_device};
    test.rows = true;
    Findings const findings = run_data(stage, test, std::chrono::milliseconds(50));
    EXPECT_EQ(findings.violations, 0U);
    EXPECT_GT(findings.rounds, 0U) << "lines were taken together";
    test.shared = true;
    Findings const shared = run_data(stage, test, std::chrono::milliseconds(50));
    EXPECT_EQ(shared.violations, 0U);
    EXPECT_GT(shared.rounds, 0U);
    test.shared = false;
    test.relaxed_load = true;
    EXPECT_GT(run_data(stage, test, std::chrono::milliseconds(20)).checks, 0U);
    test = {Direction::to_device, OutOfLine::none, true};
    EXPECT_GT(run_data(stage, test, std::chrono::milliseconds(20)).checks, 0U);
    test = {Direction::to_device, OutOfLine::written, true, false, true};
    EXPECT_GT(run_data(stage, test, std::chrono::milliseconds(20)).checks, 0U);
}

TEST(VerifyBulkDataRunTest, dataThatABulkCopyNamesAreThere) {
    VerifyStage const stage{Device::open("emulated"), 1};
    DataTest test{Direction::to_host};
    test.bulk = true;
    Findings const findings = run_data(stage, test, std::chrono::milliseconds(50));
    EXPECT_EQ(findings.violations, 0U);
    EXPECT_GT(findings.checks, 0U);
}

}  // namespace
}  // namespace carillon::tool
