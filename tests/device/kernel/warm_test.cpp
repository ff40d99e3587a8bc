// SPDX-License-Identifier: Apache-2.0
// Client::warm() changes nothing.
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/gated_kernel.hpp"

namespace carillon::test {
namespace {

// The content of a channel's memory on both sides.
std::vector<std::byte> contents(ChannelMemory const& memory) {
    std::vector<std::byte> bytes(memory.device_memory().size() + memory.host_memory().size());
    std::size_t const first = memory.device_memory().size();
    std::memcpy(bytes.data(), memory.device_memory().host_ptr(), first);
    std::memcpy(bytes.data() + first, memory.host_memory().host_ptr(), bytes.size() - first);
    return bytes;
}

class WarmTest : public GatedKernelTest {};
CARILLON_ON_EVERY_DEVICE(WarmTest);
CARILLON_ON_HOST_MEMORY(WarmTest);

// Catches any store, and a reply that is taken unasked.
TEST_P(WarmTest, nothingInTheMemoryOfAChannelChanges) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, 4);
    Channel<int, int> channel(device(), memory, 0, HostWait());
    DeviceChannel<int, int> kernel(memory->host_view().channel(0).requests,
                                   memory->host_view().channel(0).replies);
    auto const expect_no_change = [&] {
        auto const before = contents(*memory);
        for (int i = 0; i < 100; ++i) channel.warm();
        EXPECT_EQ(contents(*memory), before);
    };
    expect_no_change();
    std::vector<Ticket> tickets;
    for (int i = 0; i < 4; ++i) {
        tickets.push_back(channel.submit(i, patience));
        expect_no_change();
    }
    if (on_gpu()) return;  // the other end is a CPU thread here
    int request = 0;
    while (kernel.requests.try_pop(request)) ASSERT_TRUE(kernel.replies.try_push(10 + request));
    expect_no_change();
    channel.abandon(tickets[1]);
    EXPECT_EQ(channel.try_take(tickets[2]), 12);  // and that to 0 is kept
    expect_no_change();
    EXPECT_EQ(channel.try_take(tickets[0]), 10);
    EXPECT_EQ(channel.try_take(tickets[3]), 13);
    EXPECT_EQ(channel.submit(4, patience).number(), 5U);
}

TEST_P(WarmTest, callsGoOnAsWithout) {
    channel().warm();  // before the first
    for (std::uint64_t i = 0; i < 20; ++i) {
        CountedReply const reply = channel().call({i, 0}, patience);
        EXPECT_EQ(reply.value, 3 * i + 1);
        EXPECT_EQ(reply.served, i + 1);
        channel().warm();
    }
}

TEST_P(WarmTest, outstandingTicketsStayGood) {
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 4; ++i) tickets.push_back(channel().submit({i, 1}, patience));
    channel().warm();
    EXPECT_FALSE(channel().try_submit({9, 0}).has_value());
    gate().open(1);
    EXPECT_EQ(channel().wait(tickets[3], patience).value, 10U);  // the others have come too
    channel().warm();
    for (std::uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(channel().wait(tickets[i], 0ns).value, 3 * i + 1);
        channel().warm();
    }
    EXPECT_TRUE(channel().all_answered());
}

// A program warms up while it waits: that the kernel has ended its next call says.
TEST_P(WarmTest, kernelThatHasEndedIsNoError) {
    auto kernel = std::make_unique<PersistentKernel<GatedHandler>>(device());
    kernel->stop(patience);
    EXPECT_NO_THROW(kernel->channel().warm());
    EXPECT_THROW((void)kernel->channel().call({1, 0}, patience), StoppedError);
}

TEST_P(WarmTest, clientOfAPoolWarmsUpToo) {
    std::optional<PersistentKernel<GatedHandler, Pool>> kernel(
        std::in_place, device(), KernelOptions{.capacity = 4, .pool = {.clients = 1, .replies = 2}},
        GatedHandler{gate().device_view()});
    auto client = kernel->client();
    client.warm();
    for (std::uint64_t i = 0; i < 20; ++i) {
        Ticket const one = client.submit({i, i}, patience);
        client.warm();
        Ticket const other = client.submit({i + 1, 0}, patience);
        client.warm();  // without a place for one more
        gate().open(i);
        EXPECT_EQ(client.wait(other, patience).value, 3 * (i + 1) + 1);
        EXPECT_EQ(client.wait(one, patience).value, 3 * i + 1);
    }
    kernel->stop(patience);
    EXPECT_NO_THROW(client.warm());
    kernel.reset();  // before its client
    EXPECT_NO_THROW(client.warm());
    auto const moved = std::move(client);
    CARILLON_EXPECT_ERROR(client.warm(), UsageError, "Client::warm: the object was moved from");
}

}  // namespace
}  // namespace carillon::test
