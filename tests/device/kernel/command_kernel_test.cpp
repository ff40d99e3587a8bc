// SPDX-License-Identifier: Apache-2.0
// Several commands over one channel, express channels, and handlers of several threads.
#include <memory>
#include <optional>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {
using namespace detail;

struct Add {
    double value;
};
struct Reset {};
struct Ask {
    static constexpr std::uint32_t opcode = 700;
    std::uint64_t number;
    bool operator==(Ask const&) const = default;
};
struct Largest {
    std::uint32_t word[11];
    bool operator==(Largest const&) const = default;
};
using Desk = Commands<Add, Reset, Ask, Largest>;

inline constexpr std::uint32_t too_much = 41;

struct DeskHandler {
    using Commands = Desk;
    double sum = 0;

    CARILLON_HD Outcome<double> operator()(Add const& add) {
        if (sum + add.value > 100) return Refusal{too_much};
        return sum += add.value;
    }
    CARILLON_HD void operator()(Reset const& /*reset*/) { sum = 0; }
    CARILLON_HD Ask operator()(Ask const& ask) const { return {ask.number + 1}; }
    CARILLON_HD Outcome<Largest> operator()(Largest const& largest) const {
        Largest reply{};
        for (std::uint32_t i = 0; i < 11; ++i) reply.word[i] = ~largest.word[10 - i];
        return reply;
    }
};

// Knows a command that DeskHandler does not.
struct Unknown {
    static constexpr std::uint32_t opcode = 4711;
    std::uint64_t number;
};

struct GatedWarp : GatedHandler {
    static constexpr unsigned threads = 32;
    CARILLON_HD CountedReply operator()(GatedRequest const& request) {
        return GatedHandler::operator()(request);
    }
};

// Every thread writes its share of the words, in memory of the host's.
template <unsigned count>
struct FillingHandler {
    static constexpr unsigned threads = count;
    static constexpr bool out_of_line = true;
    static constexpr unsigned words = 1000;
    std::uint64_t* to;

    CARILLON_HD std::uint64_t operator()(std::uint64_t const& request) const {
        for (unsigned i = block::thread_rank(); i < words; i += block::size()) to[i] = request + i;
        return request;
    }
};

namespace {

class CommandKernelTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(CommandKernelTest);
class HandlerOfSeveralThreadsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(HandlerOfSeveralThreadsTest);

// Catches a command that another's handler gets, and bytes of it that are lost.
TEST_P(CommandKernelTest, everyCommandGetsItsOwnReply) {
    PersistentKernel<DeskHandler> kernel(device(), {.blocks = 2});
    auto& desk = kernel.channel();
    EXPECT_EQ(desk.call(Add{40}, patience), 40);
    EXPECT_EQ(desk.call(Add{2}, patience), 42);
    EXPECT_EQ(kernel.channel(1).call(Add{1}, patience), 1) << "a block has state of its own";
    EXPECT_EQ(desk.call(Ask{6}, patience), Ask{7});
    EXPECT_EQ(desk.call(Reset{}, patience), Done{});
    EXPECT_EQ(desk.call(Add{1}, patience), 1);
    Largest largest{};
    Largest inverse{};
    for (std::uint32_t i = 0; i < 11; ++i) {
        largest.word[i] = 0x01010101U * (i + 1);
        inverse.word[10 - i] = ~largest.word[i];
    }
    EXPECT_EQ(desk.call(largest, patience), inverse);
}

// Catches a refusal that is taken for a reply, and one that spoils the next.
TEST_P(CommandKernelTest, refusalComesBackAsAnErrorWithItsCode) {
    PersistentKernel<DeskHandler> kernel(device());
    auto& desk = kernel.channel();
    try {
        (void)desk.call(Add{101}, patience);
        FAIL() << "nothing was thrown";
    } catch (HandlerError const& error) {
        EXPECT_EQ(error.code(), too_much);
        EXPECT_STREQ(error.what(),
                     "Client::call: the handler refused carillon::test::Add with code 41");
    }
    EXPECT_EQ(desk.call(Add{100}, patience), 100);
    auto const refused = desk.submit(Add{1}, patience);
    auto const asked = desk.submit(Ask{1}, patience);
    EXPECT_EQ(desk.wait(asked, patience), Ask{2});
    CARILLON_EXPECT_ERROR(desk.wait(refused, patience), HandlerError, "code 41");
    CARILLON_EXPECT_ERROR((void)desk.try_take(refused), UsageError, "no reply is outstanding");
}

TEST_P(CommandKernelTest, commandThatTheKernelDoesNotKnowIsAUsageError) {
    PersistentKernel<DeskHandler> kernel(device());
    auto& desk = kernel.channel();
    Client<Desk::Request, PersistentKernel<DeskHandler>::Client::Reply>& packets = desk;
    auto request = Desk::pack(Ask{1});
    request.kind = Unknown::opcode;
    auto const reply = packets.call(request, patience);
    EXPECT_EQ(reply.kind, static_cast<std::uint32_t>(ReplyStatus::unknown_command));
    // A host whose table has more commands than the kernel's gets this error.
    auto const ticket = CommandTicket<Ask>(packets.submit(request, patience));
    CARILLON_EXPECT_ERROR(desk.wait(ticket, patience), UsageError,
                          "the kernel has no command with the opcode of carillon::test::Ask");
    EXPECT_EQ(desk.call(Ask{1}, patience), Ask{2});
}

TEST_P(CommandKernelTest, ticketsMayBeTakenInAnyOrderOrGivenUp) {
    PersistentKernel<DeskHandler> kernel(device(), {.capacity = 8});
    auto& desk = kernel.channel();
    for (int round = 0; round < 100; ++round) {
        auto const reset = desk.submit(Reset{}, patience);
        auto const first = desk.submit(Add{2}, patience);
        auto const second = desk.submit(Add{3}, patience);
        desk.abandon(first);
        EXPECT_EQ(desk.wait(second, patience), 5);
        std::optional<Done> done;
        EXPECT_TRUE(eventually([&] { return (done = desk.try_take(reset)).has_value(); }));
    }
    kernel.drain(patience);
    CARILLON_EXPECT_ERROR((void)desk.try_submit(Reset{}), StoppedError, "the kernel was drained");
}

template <class Handler>
void express_overtakes(Device const& device) {
    Gate gate(device);
    Memory const word = device.allocate_host(sizeof(std::uint64_t));
    Handler handler;
    handler.gate = gate.device_view();
    handler.entered = static_cast<std::uint64_t*>(word.device_ptr());
    PersistentKernel<Handler> kernel(
        device, {.blocks = 2, .capacity = 8, .channels = {.express = true}}, handler);
    auto& normal = kernel.channel(1);
    auto& express = kernel.express(1);
    Ticket const held = normal.submit({0, 1}, patience);
    auto const* const entered = static_cast<std::uint64_t const*>(word.host_ptr());
    ASSERT_TRUE(eventually([&] { return HostCached().load_word(entered) == 1; }));
    std::vector<Ticket> behind;
    for (int i = 0; i < 6; ++i) behind.push_back(normal.submit({1, 0}, patience));
    Ticket const urgent = express.submit({2, 0}, patience);
    EXPECT_EQ(kernel.activity(1), BlockActivity::busy);
    gate.open(1);
    EXPECT_EQ(normal.wait(held, patience).served, 1U);
    EXPECT_EQ(express.wait(urgent, patience).served, 2U) << "right behind the one under way";
    for (std::uint64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(normal.wait(behind[i], patience).served, 3 + i);
    }
    // Uses both channels through several laps.
    for (std::uint64_t i = 4; i < 50; ++i) {
        EXPECT_EQ(express.call({i, 0}, patience).served, 2 * i + 1);
        EXPECT_EQ(normal.call({i, 0}, patience).served, 2 * i + 2);
    }
    Ticket const last = kernel.express(0).submit({5, 0}, patience);
    kernel.drain(patience);
    EXPECT_EQ(kernel.express(0).wait(last, patience).value, 16U);
    CARILLON_EXPECT_ERROR(express.call({1, 0}, patience), StoppedError, "was drained");
}

TEST_P(CommandKernelTest, expressRequestIsServedBeforeThoseThatCameEarlier) {
    express_overtakes<GatedHandler>(device());
}

TEST_P(CommandKernelTest, expressRequestOvertakesWhereAWarpServes) {
    express_overtakes<GatedWarp>(device());
}

TEST_P(CommandKernelTest, shapesThatAreNotAreUsageErrors) {
    PersistentKernel<GatedHandler> kernel(device());
    CARILLON_EXPECT_ERROR((void)kernel.express(), UsageError, "the kernel has no such channels");
    // Room for the channels of two blocks, but not for their express channels.
    auto const memory = std::make_shared<ChannelMemory>(device(), 3, 4);
    CARILLON_EXPECT_ERROR(
        PersistentKernel<GatedHandler>(
            device(), {.blocks = 2, .memory = memory, .channels = {.express = true}}),
        UsageError, "but the memory has 3");
}

template <unsigned threads>
void every_thread_writes_before_the_reply(Device const& device) {
    using Handler = FillingHandler<threads>;
    Memory const words = device.allocate_host(Handler::words * sizeof(std::uint64_t));
    PersistentKernel<Handler> kernel(device, {},
                                     Handler{static_cast<std::uint64_t*>(words.device_ptr())});
    auto const* const seen = static_cast<std::uint64_t const*>(words.host_ptr());
    for (std::uint64_t request = 1; request < 300; ++request) {
        ASSERT_EQ(kernel.channel().call(request, patience), request);
        for (unsigned i = 0; i < Handler::words; ++i) ASSERT_EQ(seen[i], request + i) << i;
    }
    kernel.stop(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
}

// Catches a reply that overtakes the writes of threads other than the first.
TEST_P(HandlerOfSeveralThreadsTest, whatEveryThreadOfAWarpWritesIsThereWithTheReply) {
    every_thread_writes_before_the_reply<32>(device());
}

TEST_P(HandlerOfSeveralThreadsTest, whatEveryThreadOfABlockWritesIsThereWithTheReply) {
    every_thread_writes_before_the_reply<256>(device());
}

TEST_P(CommandKernelTest, blockOfSeveralThreadsEndsWhileItsRepliesFindNoRoom) {
    PersistentKernel<GatedWarp> kernel(device(), {.capacity = 2});
    auto& channel = kernel.channel();
    (void)channel.submit({1, 0}, patience);
    (void)channel.submit({1, 0}, patience);
    kernel.stop(patience);
}

}  // namespace
}  // namespace carillon::test
