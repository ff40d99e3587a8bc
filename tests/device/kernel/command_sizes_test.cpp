// SPDX-License-Identifier: Apache-2.0
// Tables of commands of any size, which travel in messages of up to 1 KiB.
#include <vector>

#include "device/device_fixture.hpp"
#include "support/sized.hpp"

namespace carillon::test {

// A type of command for each size; the reply to number n is number ~n, of another size.
template <std::size_t size>
struct SizedCommand {
    SizedWords<size> words;
};
using OfTwoLines = SizedCommand<56>;
using OfManyLines = SizedCommand<768>;
using LargestCommand = SizedCommand<1016>;
struct LittleCommand {
    std::uint32_t number;
};
struct OddCommand {
    unsigned char byte[1020];
};

template <class... Command>
struct SizedDesk {
    using Commands = carillon::Commands<Command...>;
    std::uint64_t served = 0;

    template <std::size_t size>
    CARILLON_HD static SizedWords<size> answer(bool whole, std::uint64_t number) {
        return SizedWords<size>::make(whole ? ~number : 0);
    }
    CARILLON_HD SizedWords<1016> operator()(OfTwoLines const& command) {
        ++served;
        return answer<1016>(command.words.whole(), command.words.number());
    }
    CARILLON_HD Outcome<SizedWords<256>> operator()(OfManyLines const& command) {
        ++served;
        if (command.words.number() == 7) return Refusal{77};
        return answer<256>(command.words.whole(), command.words.number());
    }
    CARILLON_HD std::uint64_t operator()(LargestCommand const& command) {
        ++served;
        return command.words.whole() ? ~command.words.number() : 0;
    }
    CARILLON_HD std::uint64_t operator()(LittleCommand const& /*command*/) { return ++served; }
    CARILLON_HD OddCommand operator()(OddCommand const& command) {
        ++served;
        OddCommand reply;
        for (unsigned i = 0; i < 1020; ++i) reply.byte[i] = command.byte[1019 - i];
        return reply;
    }
};
using AllSizes = SizedDesk<OfTwoLines, OfManyLines, LargestCommand, LittleCommand, OddCommand>;
using TwoLines = SizedDesk<LittleCommand, OfTwoLines>;
struct WarpDesk : AllSizes {
    static constexpr unsigned threads = 32;
};

namespace {

class CommandSizesTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(CommandSizesTest);
CARILLON_ON_HOST_MEMORY(CommandSizesTest);

template <class Reply>
void expect_reply(Reply const& reply, std::uint64_t number) {
    ASSERT_EQ(reply.number(), ~number);
    ASSERT_TRUE(reply.whole()) << number;
}

// Each of the table's, large ones behind small ones: none has bytes of the one before it.
template <class Client>
void expect_all_sizes(Client& desk, std::uint64_t rounds) {
    for (std::uint64_t n = 10; n < 10 + rounds; ++n) {
        expect_reply(desk.call(OfTwoLines{SizedWords<56>::make(n)}, patience), n);
        (void)desk.call(LittleCommand{1}, patience);
        expect_reply(desk.call(OfManyLines{SizedWords<768>::make(n)}, patience), n);
        ASSERT_EQ(desk.call(LargestCommand{SizedWords<1016>::make(n)}, patience), ~n);
        CARILLON_EXPECT_ERROR(desk.call(OfManyLines{SizedWords<768>::make(7)}, patience),
                              HandlerError, "code 77");
        OddCommand odd{};
        for (unsigned i = 0; i < 1020; ++i) odd.byte[i] = static_cast<unsigned char>(n + 7 * i);
        OddCommand const reply = desk.call(odd, patience);
        for (unsigned i = 0; i < 1020; ++i) ASSERT_EQ(reply.byte[i], odd.byte[1019 - i]) << i;
    }
}

TEST_P(CommandSizesTest, commandsOfAnySizeGetTheirReplies) {
    PersistentKernel<AllSizes> kernel(device(), {.blocks = 2, .capacity = 4});
    expect_all_sizes(kernel.channel(0), 60);
    expect_all_sizes(kernel.channel(1), 20);
    EXPECT_EQ(kernel.channel(1).call(LittleCommand{1}, patience), 6 * 20 + 1U);
}

TEST_P(CommandSizesTest, ticketsOfCommandsOfTwoLinesAreTakenInAnyOrder) {
    PersistentKernel<TwoLines> kernel(device(), {.capacity = 8});
    auto& desk = kernel.channel();
    for (std::uint64_t n = 0; n < 60; n += 2) {
        auto const first = desk.submit(OfTwoLines{SizedWords<56>::make(n)}, patience);
        auto const little = desk.submit(LittleCommand{1}, patience);
        auto const second = desk.submit(OfTwoLines{SizedWords<56>::make(n + 1)}, patience);
        expect_reply(desk.wait(second, patience), n + 1);
        expect_reply(desk.wait(first, patience), n);
        EXPECT_EQ(desk.wait(little, patience), 3 * n / 2 + 2);
    }
}

// One kernel after the other: a launch that needs more local memory than any before waits on a GPU
// for the kernels that run (docs/dev/hazards.md).
TEST_P(CommandSizesTest, watchedChannelsCarryThemToo) {
    PersistentKernel<AllSizes, WatchedChannels> watched(
        device(), {.capacity = 4, .watched = {.per_block = 2}});
    expect_all_sizes(watched.channel(1), 10);
}

TEST_P(CommandSizesTest, expressChannelsCarryThemToo) {
    PersistentKernel<AllSizes> express(device(), {.capacity = 4, .channels = {.express = true}});
    expect_all_sizes(express.express(), 10);
}

TEST_P(CommandSizesTest, severalThreadsCarryThemToo) {
    PersistentKernel<WarpDesk> warp(device(), {.capacity = 4});
    expect_all_sizes(warp.channel(), 10);
}

TEST_P(CommandSizesTest, poolsCarryThemToo) {
    for (std::uint32_t const stripe : {1U, 32U}) {
        PersistentKernel<AllSizes, Pool> pool(
            device(), {.capacity = 4 * stripe, .pool = {.clients = 1, .stripe = stripe}});
        auto client = pool.client();
        expect_all_sizes(client, 10);
    }
}

}  // namespace
}  // namespace carillon::test
