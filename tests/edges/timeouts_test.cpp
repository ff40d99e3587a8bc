// SPDX-License-Identifier: Apache-2.0
// The text of a timeout: whether the request was sent, what was full, and the public call.
#include <string>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class TimeoutTest : public KernelTest {
   protected:
    // Expects that `call` throws a TimeoutError with `text`, which also says whether its request
    // was sent.
    template <class Call>
    static void expect_timeout(bool sent, std::string const& text, Call&& call) {
        try {
            (void)call();
            ADD_FAILURE() << "nothing was thrown";
        } catch (TimeoutError const& error) {
            EXPECT_EQ(error.sent(), sent) << error.what();
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        }
    }
    // A program that calls until nothing is sent any more, and counts the requests that may be
    // served.
    template <class Asker>
    static std::uint64_t call_until_nothing_is_sent(Asker& asker) {
        for (std::uint64_t sent = 0;; ++sent) {
            try {
                (void)asker.call({1, 1}, 0ns);
            } catch (TimeoutError const& error) {
                if (!error.sent()) return sent;
            }
        }
    }
};
CARILLON_ON_EVERY_DEVICE(TimeoutTest);

TEST_P(TimeoutTest, callsThatWereSentAreThoseThatAreServed) {
    Gate gate(device());
    PersistentKernel<GatedHandler> kernel(device(), {.capacity = 4},
                                          GatedHandler{gate.device_view()});
    auto& channel = kernel.channel();
    std::uint64_t const sent = call_until_nothing_is_sent(channel);
    EXPECT_EQ(sent, 4U);
    expect_timeout(false, "Client::call: no slot became free",
                   [&] { return channel.call({}, 1ms); });
    expect_timeout(false, "all 4 slots of the channel", [&] { return channel.submit({}, 1ms); });
    gate.open(1);
    EXPECT_EQ(channel.call({7, 0}, patience).served, sent + 1);
    Ticket const late = channel.submit({7, 2}, patience);
    expect_timeout(true, "Client::wait: no reply", [&] { return channel.wait(late, 0ns); });
    expect_timeout(true, "Client::call: no reply", [&] { return channel.call({7, 2}, 0ns); });
    gate.open(2);
}

// A single client, so that only the limit of its outstanding replies counts.
TEST_P(TimeoutTest, clientSaysThatItsRepliesHaveNoRoom) {
    Gate gate(device());
    PersistentKernel<GatedHandler, Pool> kernel(
        device(), {.blocks = 1, .capacity = 4, .pool = {.clients = 1, .replies = 2}},
        GatedHandler{gate.device_view()});
    auto client = kernel.client();
    EXPECT_EQ(call_until_nothing_is_sent(client), 2U);
    expect_timeout(false, "Client::call: no slot became free",
                   [&] { return client.call({}, 1ms); });
    expect_timeout(false, "this client has 2 outstanding requests",
                   [&] { return client.submit({}, 1ms); });
    gate.open(1);
    EXPECT_EQ(client.call({7, 0}, patience).value, 22U);
    Ticket const late = client.submit({7, 2}, patience);
    expect_timeout(true, "Client::wait: no reply", [&] { return client.wait(late, 0ns); });
    gate.open(2);
}

TEST_P(TimeoutTest, clientSaysThatTheRingHasNoRoom) {
    Gate gate(device());
    Memory const entered = device().allocate_host(64);
    PersistentKernel<GatedHandler, Pool> kernel(
        device(), {.blocks = 1, .capacity = 2},
        GatedHandler{gate.device_view(), static_cast<std::uint64_t*>(entered.device_ptr())});
    auto client = kernel.client();
    (void)client.submit({1, 1}, patience);
    ASSERT_TRUE(eventually([&] {  // the only block takes no more
        return HostCached().load_word(static_cast<std::uint64_t*>(entered.host_ptr())) == 1;
    }));
    EXPECT_GE(call_until_nothing_is_sent(client), 1U);
    expect_timeout(false, "all 2 slots of the kernel's ring",
                   [&] { return client.submit({}, 1ms); });
    gate.open(1);
}

}  // namespace
}  // namespace carillon::test
