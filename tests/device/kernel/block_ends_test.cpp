// SPDX-License-Identifier: Apache-2.0
// Ends of rings, mailboxes and the like in kernels of several blocks: each has one block that uses
// it, or the kernel is refused.
#include <memory>
#include <stdexcept>

#include "carillon/block.hpp"
#include "device/device_fixture.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {
using namespace detail;

struct EndAsk {
    std::uint64_t value;
};
using EndStatus = Mailbox<EndAsk, Direction::to_host>;
using EndOrders = Ring<EndAsk, Direction::to_device>;
using EndTrades = Ring<EndAsk, Direction::to_host>;

// Sends its requests through its block's own mailbox.
struct TellingHandler {
    EndStatus::DeviceEnd status;
    CARILLON_HD EndAsk operator()(EndAsk const& ask) {
        status.set(ask);
        return ask;
    }
};
struct TellingDesk : TellingHandler {
    using Commands = carillon::Commands<EndAsk>;
};

// A body or a handler with an end of any kind, behind a member that leaves padding.
template <class End>
struct BodyWithEnd {
    bool flag;
    End end;
    CARILLON_HD void operator()(unsigned /*block*/) {}
};
template <class End>
struct HandlerWithEnd {
    bool flag;
    End end;
    CARILLON_HD EndAsk operator()(EndAsk const& ask) { return ask; }
};

// Sends the number of its block.
struct SendingBody {
    EndTrades::DeviceEnd trades;
    CARILLON_HD void operator()(unsigned block) { (void)trades.try_push({block + 10U}); }
};
struct OwnedBody {
    OwnedByBlock<EndTrades::DeviceEnd> first;
    OwnedByBlock<EndTrades::DeviceEnd> second;
    CARILLON_HD void operator()(unsigned block) {
        if (auto* const own = first.get()) (void)own->try_push({block + 10U});
        if (auto* const own = second.get()) (void)own->try_push({block + 20U});
    }
};

// A body larger than a kernel's parameters: a body that is made for each block may be so large.
struct LargeBody {
    std::uint64_t* out;
    std::uint64_t word[1000];
    CARILLON_HD void operator()(unsigned block) const {
        DeviceFar().store_word(out + block, word[999]);
    }
};

namespace {

class BlockEndsTest : public KernelTest {
   protected:
    // Requires that `make` is refused in words that name the call which gave the end, and where.
    static void expect_refused_by(auto const& make, char const* call) {
        std::string const text = thrown_text<UsageError>(make);
        EXPECT_NE(text.find(call), std::string::npos) << text;
        EXPECT_NE(text.find("block_ends_test.cpp"), std::string::npos) << text;
    }
    template <class End>
    void expect_for_one_block(End const& end, char const* call) {
        BodyWithEnd<End> const body{false, end};
        expect_refused_by([&] { (void)launch(device(), 2, body); }, call);
        EXPECT_TRUE(launch(device(), 1, body).wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(BlockEndsTest);

TEST_P(BlockEndsTest, mailboxToTheHostIsForOneBlock) {
    EndStatus const status(device(), {});
    expect_for_one_block(status.device_handle(), "Mailbox::device_handle");
}

// One function looks for ends in the bytes of handlers and of bodies. The other tests give it each
// kind of end in a body; here each kind of kernel gives it a handler.
TEST_P(BlockEndsTest, everyKindOfKernelRefusesACopyForEachBlock) {
    EndStatus const status(device(), {});
    using Handler = HandlerWithEnd<EndStatus::DeviceEnd>;
    Handler const handler{false, status.device_handle()};
    auto const expect = [&]<class Requests>(KernelOptions const& options) {
        expect_refused_by(
            [&] { PersistentKernel<Handler, Requests> const kernel(device(), options, handler); },
            "Mailbox::device_handle");
    };
    KernelOptions const two{.blocks = 2};
    expect.operator()<Channels>(two);
    expect.operator()<Pool>(two);
    expect.operator()<SharedChannels>(two);
    expect.operator()<SharedPool>(two);
    // Every lane has a copy, of one block too.
    expect.operator()<WatchedChannels>({});
    expect.operator()<Pool>({.blocks = 1, .pool = {.stripe = 32}});
    PersistentKernel<Handler> one(device(), {}, handler);
    EXPECT_EQ(one.channel().call({7}, patience).value, 7U);
}

TEST_P(BlockEndsTest, ringIsForOneBlock) {
    EndOrders const orders(device());
    expect_for_one_block(orders.device_handle(), "Ring::device_handle");
    EndTrades const trades(device());
    expect_for_one_block(trades.device_handle(), "Ring::device_handle");
}

TEST_P(BlockEndsTest, chunkRingIsForOneBlock) {
    ChunkRing<> const chunks(device());
    expect_for_one_block(chunks.device_handle(), "ChunkRing::device_handle");
    ChunkRing<> const block_chunks(device());
    expect_for_one_block(block_chunks.block_handle(), "ChunkRing::block_handle");
}

TEST_P(BlockEndsTest, doorbellIsForOneBlock) {
    Doorbell<Direction::to_host> const ringer(device());
    expect_for_one_block(ringer.device_handle(), "Doorbell::device_handle");
    Doorbell<Direction::to_device> const listener(device());
    expect_for_one_block(listener.device_handle(), "Doorbell::device_handle");
}

TEST_P(BlockEndsTest, channelIsForOneBlock) {
    Channel<EndAsk, EndAsk> const channel(device());
    expect_for_one_block(channel.device_handle(), "Client::device_handle");
}

TEST_P(BlockEndsTest, sharedObjectIsForOneBlock) {
    SharedMailbox<EndAsk> const limits(device(), {.readers = 2});
    expect_for_one_block(limits.device_handle(0), "SharedMailbox::device_handle");
    expect_for_one_block(limits.device_handle(1), "SharedMailbox::device_handle");
    SharedMailbox<EndAsk, Direction::to_host> const status(device(), {});
    expect_for_one_block(status.device_handle(), "SharedMailbox::device_handle");
    SharedRing<EndAsk, Direction::to_device> const in(device());
    expect_for_one_block(in.device_handle(), "SharedRing::device_handle");
    SharedRing<EndAsk, Direction::to_host> const out(device());
    expect_for_one_block(out.device_handle(), "SharedRing::device_handle");
    SharedChunkRing<> const chunks(device());
    expect_for_one_block(chunks.device_handle(), "SharedChunkRing::device_handle");
}

TEST_P(BlockEndsTest, refusalNamesTheCure) {
    EndStatus const status(device(), {});
    TellingHandler const handler{status.device_handle()};
    CARILLON_EXPECT_ERROR(PersistentKernel(device(), {.blocks = 3}, handler), UsageError,
                          "each of 3 blocks would have a copy of the end that");
    CARILLON_EXPECT_ERROR(PersistentKernel(device(), {.blocks = 3}, handler), UsageError,
                          "[](unsigned block) { return Handler{...}; }");
}

// An end that many may read, or send through, may serve all blocks.
TEST_P(BlockEndsTest, endsThatManyMayUseAreForAllBlocks) {
    Mailbox<EndAsk, Direction::to_device> const gains(device(), {});
    Flag<std::uint32_t, Direction::to_device> const stop(device());
    Flag<std::uint32_t, Direction::to_host> const done(device());
    HostService<EndAsk, void> const service(device(), [](EndAsk const&) {});
    LogService const log(device(), {.sink = [](LogRecord const&) {}});
    auto const start = [&](auto const& end) {
        BodyWithEnd<std::remove_cvref_t<decltype(end)>> const body{false, end};
        EXPECT_TRUE(launch(device(), 2, body).wait(patience));
    };
    start(gains.device_handle());
    start(gains.block_handle());
    start(stop.device_handle());
    start(done.device_handle());
    start(service.device_handle());
    start(log.device_handle());
}

// The next object may have its memory. Catches an end that is known for longer than it is there.
TEST_P(BlockEndsTest, endOfAnObjectThatIsGoneIsNone) {
    for (int round = 0; round != 3; ++round) {
        Doorbell<Direction::to_host> const bell(device());
        BodyWithEnd<Doorbell<Direction::to_host>::DeviceEnd> const rung{false,
                                                                        bell.device_handle()};
        EXPECT_TRUE(launch(device(), 1, rung).wait(patience));
    }
    Flag<std::uint32_t, Direction::to_host> const done(device());
    BodyWithEnd<Flag<std::uint32_t, Direction::to_host>::DeviceEnd> const two{false,
                                                                              done.device_handle()};
    EXPECT_TRUE(launch(device(), 2, two).wait(patience));
    (void)EndStatus(device(), {}).device_handle();
    SharedMailbox<EndAsk> const limits(device());
    BodyWithEnd<SharedMailbox<EndAsk>::DeviceEnd> const one{false, limits.device_handle()};
    EXPECT_TRUE(launch(device(), 1, one).wait(patience));
}

// A part of an end counts for itself.
TEST_P(BlockEndsTest, halfOfAChannelIsForOneBlock) {
    Channel<EndAsk, EndAsk> const channel(device());
    auto const end = channel.device_handle();
    expect_for_one_block(end.requests, "Client::device_handle");
    expect_for_one_block(end.replies, "Client::device_handle");
}

TEST_P(BlockEndsTest, endHasOneOwner) {
    EndTrades const trades(device());
    auto const end = trades.device_handle();
    CARILLON_EXPECT_ERROR(launch(device(), 1, OwnedBody{{0, end}, {1, end}}), UsageError,
                          "OwnedByBlock: block 0 already owns");
}

// An end whose owner is none of the blocks would have no user.
TEST_P(BlockEndsTest, ownerIsOneOfTheBlocks) {
    EndTrades const trades(device());
    OwnedByBlock const owned(2, trades.device_handle());
    BodyWithEnd<OwnedByBlock<EndTrades::DeviceEnd>> const body{false, owned};
    CARILLON_EXPECT_ERROR(launch(device(), 2, body), UsageError, "there are only 2 blocks");
    CARILLON_EXPECT_ERROR(launch_pinned(device(), Pins(3), body), UsageError,
                          "blocks have no numbers here");
    HandlerWithEnd<OwnedByBlock<EndTrades::DeviceEnd>> const handler{false, owned};
    CARILLON_EXPECT_ERROR(PersistentKernel(device(), {.blocks = 3}, handler), UsageError,
                          "blocks have no numbers here");
}

// Catches handlers that are mixed up, or that all blocks have.
TEST_P(BlockEndsTest, functionMakesAHandlerForEachBlock) {
    EndStatus first(device(), {});
    EndStatus second(device(), {});
    EndStatus* const of_block[] = {&first, &second};
    testing::internal::CaptureStderr();
    PersistentKernel kernel(device(), {.blocks = 2}, [&](unsigned block) {
        return TellingHandler{of_block[block]->device_handle()};
    });
    static_assert(std::is_same_v<decltype(kernel), PersistentKernel<TellingHandler>>);
    EXPECT_EQ(captured_stderr().find("an earlier launch had it too"), std::string::npos);
    for (std::uint64_t value = 1; value <= 100; ++value) {
        for (unsigned block : {0U, 1U})
            (void)kernel.channel(block).call({10 * value + block}, patience);
    }
    for (unsigned block : {0U, 1U}) {
        EndAsk last{};
        EXPECT_TRUE(eventually([&] {
            (void)of_block[block]->refresh(last);
            return last.value == 1000 + block;
        }));
    }
}

template <class Requests>
void expect_started(Device const& device) {
    EndStatus first(device, {});
    EndStatus second(device, {});
    auto const make = [&](unsigned block) {
        return TellingHandler{(block == 0 ? first : second).device_handle()};
    };
    PersistentKernel<TellingHandler, Requests> kernel(device, {.blocks = 2}, make);
    EXPECT_EQ(kernel.blocks(), 2U);
}

TEST_P(BlockEndsTest, functionMakesHandlersForEveryKindOfRequests) {
    expect_started<Channels>(device());
    expect_started<Pool>(device());
    expect_started<SharedChannels>(device());
    expect_started<SharedPool>(device());
}

TEST_P(BlockEndsTest, functionMakesHandlersOfCommands) {
    EndStatus status(device(), {});
    auto const make = [&](unsigned) { return TellingDesk{{status.device_handle()}}; };
    PersistentKernel kernel(device(), {}, make);
    (void)kernel.channel().call(EndAsk{5}, patience);
    EndAsk last{};
    EXPECT_TRUE(eventually([&] { return status.refresh(last) && last.value == 5; }));
}

TEST_P(BlockEndsTest, oneEndInTwoOfTheHandlersIsRefused) {
    EndStatus const status(device(), {});
    auto const end = status.device_handle();
    CARILLON_EXPECT_ERROR(
        PersistentKernel(device(), {.blocks = 2}, [&](unsigned) { return TellingHandler{end}; }),
        UsageError, "blocks 0 and 1 have the end that Mailbox::device_handle gave at");
}

// An exception of the function reaches the caller, and no kernel runs.
TEST_P(BlockEndsTest, errorOfTheFunctionIsThrown) {
    EndStatus const status(device(), {});
    CARILLON_EXPECT_ERROR(
        PersistentKernel(device(), {.blocks = 2},
                         [&](unsigned) { return TellingHandler{status.device_handle()}; }),
        UsageError, "takes an end that");
}

// A number of blocks that went negative is 4294967295.
TEST_P(BlockEndsTest, functionIsNotCalledForALaunchThatIsRefused) {
    constexpr auto negative = static_cast<unsigned>(-1);
    auto const make = [](unsigned) -> BodyWithEnd<int> { throw std::logic_error("called"); };
    auto const start = [&](LaunchShape const& shape) { (void)launch(device(), shape, make); };
    auto const pin = [&](unsigned roles) { (void)launch_pinned(device(), Pins(roles), make); };
    CARILLON_EXPECT_ERROR(start({.blocks = 0}), UsageError, "launch: a kernel needs at least one");
    CARILLON_EXPECT_ERROR(start({.threads = 0}), UsageError, "launch: a block has 1 to 1024");
    CARILLON_EXPECT_ERROR(start({.lasting = 2}), UsageError,
                          "launch: 2 lasting blocks requested, but the launch has 1 blocks");
    CARILLON_EXPECT_ERROR(start({.blocks = negative}), ResidencyError, "launch: 4294967295 blocks");
    CARILLON_EXPECT_ERROR(pin(0), UsageError, "launch_pinned: a kernel needs at least one block");
    CARILLON_EXPECT_ERROR(pin(negative), ResidencyError, "launch_pinned: 4294967295 blocks");
}

TEST_P(BlockEndsTest, functionIsNotCalledForMoreBlocksThanCanBeResident) {
    auto const make = [](unsigned) -> HandlerWithEnd<int> { throw std::logic_error("called"); };
    KernelOptions const options{.blocks = 10'000, .capacity = 1U << 14U};
    using Kernel = PersistentKernel<HandlerWithEnd<int>, Pool>;
    CARILLON_EXPECT_ERROR(Kernel(device(), options, make), ResidencyError,
                          "PersistentKernel: 10000 blocks requested");
}

TEST_P(BlockEndsTest, functionMakesABodyForEachBlock) {
    EndTrades first(device());
    EndTrades second(device());
    auto const kernel = launch(device(), 2, [&](unsigned block) {
        return SendingBody{(block == 0 ? first : second).device_handle()};
    });
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_EQ(first.pop(patience).value, 10U);
    EXPECT_EQ(second.pop(patience).value, 11U);
}

TEST_P(BlockEndsTest, functionMakesABodyForEachRole) {
    EndTrades first(device());
    EndTrades second(device());
    auto const make = [&](unsigned role) {
        return SendingBody{(role == 0 ? first : second).device_handle()};
    };
    auto const kernel = launch_pinned(device(), Pins(2), make);
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_EQ(first.pop(patience).value, 10U);
    EXPECT_EQ(second.pop(patience).value, 11U);
}

TEST_P(BlockEndsTest, bodyMadeForABlockMayBeLarge) {
    Memory const out = device().allocate_host(64);
    auto const kernel = launch(device(), 2, [&](unsigned block) {
        LargeBody body{static_cast<std::uint64_t*>(out.device_ptr()), {}};
        body.word[999] = block + 5;
        return body;
    });
    EXPECT_TRUE(kernel.wait(patience));
    auto const* const words = static_cast<std::uint64_t const*>(out.host_ptr());
    EXPECT_EQ(words[0], 5U);
    EXPECT_EQ(words[1], 6U);
}

// Each end has an owner: only that block reaches it.
TEST_P(BlockEndsTest, bodyOfSeveralBlocksHasEndsThatBlocksOwn) {
    EndTrades first(device());
    EndTrades second(device());
    auto const kernel =
        launch(device(), 3, OwnedBody{{2, first.device_handle()}, {0, second.device_handle()}});
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_EQ(first.pop(patience).value, 12U);
    EXPECT_EQ(second.pop(patience).value, 20U);
    EXPECT_FALSE(first.try_pop() || second.try_pop());
}

}  // namespace
}  // namespace carillon::test
