// SPDX-License-Identifier: Apache-2.0
// What a kernel of SharedChannels may serve, and by how many threads. P: this process, which owns
// the kernel. C: a client, in another.
#include <gtest/gtest.h>

#include <string>

#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/handlers.hpp"
#include "ipc/process.hpp"

namespace carillon::test {
namespace {

class KindsTest : public KernelTest {
   protected:
    template <class Handler>
    [[nodiscard]] PersistentKernel<Handler, SharedChannels> kernel() const {
        return PersistentKernel<Handler, SharedChannels>(
            device(), {.blocks = 1, .capacity = 8, .idle = IdlePolicy::park()});
    }
    [[nodiscard]] std::string path() const { return path_.get(); }

   private:
    SocketPath path_;
};
CARILLON_ON_EVERY_DEVICE(KindsTest);

TEST_P(KindsTest, commandsOfATableAndWhatIsRefused) {
    auto const owned = kernel<AccountHandler>();
    Server const server = owned.serve(path());
    Process client({"command", path()});
    std::string const said = client.line();
    EXPECT_NE(said.find("Withdraw with code 41"), std::string::npos) << said;
    EXPECT_EQ(client.status(), 0);
}

TEST_P(KindsTest, messagesOfSeveralLines) {
    auto const owned = kernel<SumHandler>();
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 2; ++i) {
        Process client({"call-long", path()});
        EXPECT_EQ(client.status(), 0);
    }
}

TEST_P(KindsTest, handlerOfAWholeWarp) {
    auto const owned = kernel<WarpHandler>();
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 2; ++i) {
        Process client({"call", path(), "500"});
        EXPECT_EQ(client.line(), "attached");
        EXPECT_EQ(client.line(), "first " + std::to_string(500 * i));
        EXPECT_EQ(client.status(), 0);
    }
}

// One that waits for a request leaves its block at once, though its replies have no room.
TEST_P(KindsTest, longMessagesThatNobodyTakesKeepNoBlock) {
    auto const owned = kernel<SumHandler>();
    Server const server = owned.serve(path());
    for (unsigned i = 0; i < 4; ++i) {
        Connection const owner(path(), {.timeout = patience});
        auto channel = owner.channel<SumHandler>();
        while (channel.try_submit(LongAsk{})) {
        }
    }
}

TEST(MessageTypesTest, opcodesAndSizesOfATableCount) {
    using Table = Commands<Deposit, Withdraw>;
    using Packet = Table::Request;
    detail::MessageType const type = detail::packet_type<Packet>(static_cast<Table*>(nullptr));
    detail::MessageType const plain = detail::message_type<Packet, Table>();
    EXPECT_EQ(type.bytes, plain.bytes);
    EXPECT_NE(type.layout, plain.layout);
    EXPECT_EQ(type, detail::packet_type<Packet>(static_cast<Table*>(nullptr)));
}

}  // namespace
}  // namespace carillon::test
