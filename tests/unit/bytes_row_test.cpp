// SPDX-License-Identifier: Apache-2.0
// Rows of messages of bytes.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// A row of bytes leaves in parts of 64 messages. Catches tickets of the first part that are lost.
TEST(MessageOfBytesTest, errorBehindTheFirstPartLeavesWhatWasSent) {
    MessageOf<Bytes> const message("message", 8);
    std::vector<std::byte> const row(message.bytes() * 100);
    unsigned parts = 0;
    auto const send = [&](std::span<MessageAt const> part) -> std::size_t {
        if (++parts == 2) throw StoppedError("the kernel was stopped");
        return part.size();
    };
    EXPECT_EQ(message.send_row(row, send), 64U);
    parts = 1;
    EXPECT_THROW((void)message.send_row(row, send), StoppedError) << "nothing was sent";
}

}  // namespace
}  // namespace carillon::test
