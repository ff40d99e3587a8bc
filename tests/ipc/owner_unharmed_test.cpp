// SPDX-License-Identifier: Apache-2.0
// Others do no harm to an owner and its clients: a reader of the owner's stderr that goes, users
// that take all that there is, and clients that do not read their messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "support/eventually.hpp"
#include "support/piped_stderr.hpp"

namespace carillon::test {
namespace {

// Serves a kernel with two blocks. The owner is this process.
class OwnerUnharmedTest : public WithKernel<> {
   protected:
    [[nodiscard]] Channel<Ask, Told> channel() const { return connect().channel<Ask, Told>(); }
    // Sends bytes that are no message, for whose sender the owner logs a line.
    void say_nonsense() const {
        detail::UnixSocket const somebody = stranger_at(path());
        EXPECT_TRUE(somebody.send(std::vector<std::byte>(50)));
        EXPECT_EQ(last_words(somebody), RefusalReason::bad_message);
    }
};

TEST_F(OwnerUnharmedTest, goesOnThoughWhoeverReadItsStderrHasGone) {
    PipedStderr standard_error;
    standard_error.close_reader();
    say_nonsense();
    EXPECT_EQ(channel().call({1}, patience).twice, 2U);
    EXPECT_TRUE(detail::lines_are_written(patience));
}

// 32 lines of a user in a second, and 130 bytes a line.
TEST_F(OwnerUnharmedTest, goesOnThoughNobodyReadsItsStderr) {
    constexpr unsigned lines = 32;
    PipedStderr const standard_error;
    for (unsigned i = 0; i < lines; ++i) say_nonsense();
    EXPECT_EQ(channel().call({1}, patience).twice, 2U);
    EXPECT_FALSE(detail::lines_are_written(std::chrono::nanoseconds(0)));
    std::string all;
    auto const come = [&] {
        all += standard_error.read(10);
        return std::ranges::count(all, '\n') == lines;
    };
    EXPECT_TRUE(eventually(come)) << all;
}

}  // namespace
}  // namespace carillon::test
