// SPDX-License-Identifier: Apache-2.0
// An end on the device that counts messages belongs to one kernel. A second kernel that takes it
// gets an error that names the first one.
#include <string>

#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

class EndsTest : public DeviceTest {
   protected:
    // `take()` is on one line, and called twice.
    template <class Take>
    static void expect_once(char const* call, Take&& take) {
        EXPECT_NO_THROW(take());
        CARILLON_EXPECT_ERROR(take(), UsageError, call);
        CARILLON_EXPECT_ERROR(take(), UsageError, "only one kernel may have it");
    }
};
CARILLON_ON_EVERY_DEVICE(EndsTest);

// Catches a ring whose messages two kernels share out between them, silently.
TEST_P(EndsTest, takenTwiceIsAUsageError) {
    Ring<int, Direction::to_device> const in(device());
    expect_once("Ring::device_handle", [&] { (void)in.device_handle(); });
    Ring<int, Direction::to_host> const out(device());
    expect_once("Ring::device_handle", [&] { (void)out.device_handle(); });
    Channel<int, int> const channel(device());
    expect_once("Client::device_handle", [&] { (void)channel.device_handle(); });
    Doorbell<Direction::to_host> const doorbell(device());
    expect_once("Doorbell::device_handle", [&] { (void)doorbell.device_handle(); });
    Mailbox<int, Direction::to_host> const status(device(), 0);
    expect_once("Mailbox::device_handle", [&] { (void)status.device_handle(); });
    ChunkRing<> const chunks(device());
    expect_once("ChunkRing::device_handle", [&] { (void)chunks.device_handle(); });
    CARILLON_EXPECT_ERROR((void)chunks.block_handle(), UsageError, "ChunkRing::block_handle");
}

TEST_P(EndsTest, whatMayHaveManyReadersMayBeTakenOften) {
    Mailbox<int, Direction::to_device> const gains(device(), 0);
    Flag<int, Direction::to_device> const level(device());
    MpmcRing<int, Direction::to_device> const shared(device());
    for (int i = 0; i < 2; ++i) {
        EXPECT_NO_THROW((void)gains.device_handle());
        EXPECT_NO_THROW((void)gains.block_handle());
        EXPECT_NO_THROW((void)level.device_handle());
        EXPECT_NO_THROW((void)shared.device_handle());
    }
}

TEST_P(EndsTest, errorNamesBothTakers) {
    Ring<int, Direction::to_device> const ring(device());
    int const first = __LINE__ + 1;
    (void)ring.device_handle();
    std::string const both = "ends_test.cpp:" + std::to_string(first + 4) + " takes an end that ";
    std::string text;
    try {
        (void)ring.device_handle();
    } catch (UsageError const& error) {
        text = error.what();
    }
    EXPECT_NE(text.find(both), std::string::npos) << text;
    EXPECT_NE(text.find("ends_test.cpp:" + std::to_string(first) + " has taken"), std::string::npos)
        << text;
}

}  // namespace
}  // namespace carillon::test
