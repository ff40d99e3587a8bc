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

// A row of bytes leaves in parts of 64 messages.
class BytesRowTest : public testing::Test {
   protected:
    // Sends a row of 100 messages, whose part number `bad` throws `error`.
    template <class E>
    std::size_t send(unsigned bad, E const& error) {
        std::vector<std::byte> const row(message_.bytes() * 100);
        unsigned parts = 0;
        return message_.send_row(row, [&](std::span<MessageAt const> part) -> std::size_t {
            if (++parts == bad) throw E(error);
            return part.size();
        });
    }

   private:
    MessageOf<Bytes> const message_{"message", 8};
};

// Catches tickets of the first part that are lost.
TEST_F(BytesRowTest, kernelThatEndsBehindTheFirstPartLeavesWhatWasSent) {
    EXPECT_EQ(send(3, StoppedError("the kernel was stopped")), 100U);
    EXPECT_EQ(send(2, StoppedError("the kernel was stopped")), 64U);
    EXPECT_EQ(send(2, OwnerGoneError("the owner has ended")), 64U);
    CudaError failed("cuLaunchKernel", 700, "CUDA_ERROR_ILLEGAL_ADDRESS");
    failed.mark_ended_kernel();
    EXPECT_EQ(send(2, failed), 64U);
    EXPECT_THROW((void)send(1, StoppedError("the kernel was stopped")), StoppedError);
}

// Catches a flush that fails in silence: its messages may have been sent.
TEST_F(BytesRowTest, anyOtherErrorIsThrown) {
    EXPECT_THROW((void)send(2, VulkanError("vkFlushMappedMemoryRanges", -1, "A_NAME")),
                 VulkanError);
}

}  // namespace
}  // namespace carillon::test
