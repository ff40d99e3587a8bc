// SPDX-License-Identifier: Apache-2.0
// What a process says of its types of messages, which the other one compares with its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {
namespace {

auto compared(detail::MessageType const& of) {
    return std::tuple(of.bytes, of.alignment, of.layout, of.members, of.slot_lines);
}

TEST(MessageTypesTest, opcodesAndSizesOfATableCount) {
    using Table = Commands<Deposit, Withdraw>;
    using Packet = Table::Request;
    detail::MessageType const type = detail::packet_type<Packet>(static_cast<Table*>(nullptr));
    detail::MessageType const plain = detail::message_type<Packet, Table>();
    EXPECT_EQ(type.bytes, plain.bytes);
    EXPECT_NE(type.layout, plain.layout);
    EXPECT_EQ(compared(type), compared(detail::packet_type<Packet>(static_cast<Table*>(nullptr))));
}

// Two programs may have such types under one name.
struct BidFirst {
    double bid;
    double ask;
    CARILLON_MEMBERS(bid, ask)
};
struct AskFirst {
    double ask;
    double bid;
    CARILLON_MEMBERS(bid, ask)
};
struct OtherTypes {
    std::uint64_t bid;
    double ask;
    CARILLON_MEMBERS(bid, ask)
};
struct OtherNames {
    double bid;
    double offer;
    CARILLON_MEMBERS(bid, offer)
};

TEST(MessageTypesTest, membersPlacesAndTypesCountWhereTheyAreSaid) {
    std::uint64_t const members = detail::members_of<BidFirst>();
    EXPECT_NE(members, 0U);
    EXPECT_EQ(detail::message_type<BidFirst>().members, members);
    EXPECT_NE(detail::members_of<AskFirst>(), members);
    EXPECT_NE(detail::members_of<OtherTypes>(), members);
    EXPECT_NE(detail::members_of<OtherNames>(), members);
    EXPECT_EQ(detail::members_of<Ask>(), detail::unsaid_members);
}

TEST(MessageTypesTest, membersOfACommandCountWhereAllOfTheTableAreSaid) {
    auto const of = []<class... Command>(Commands<Command...> const* table) {
        return detail::packet_type<typename Commands<Command...>::Request>(table).members;
    };
    auto const both = of(static_cast<Commands<BidFirst, AskFirst>*>(nullptr));
    EXPECT_NE(both, 0U);
    EXPECT_NE(of(static_cast<Commands<BidFirst, OtherNames>*>(nullptr)), both);
    EXPECT_EQ(of(static_cast<Commands<BidFirst, Deposit>*>(nullptr)), 0U);
}

// Handlers of one table of commands, whose packets have one size.
template <class Reply>
struct Replying {
    using Commands = carillon::Commands<BidFirst>;
    Reply operator()(BidFirst const& /*command*/) const { return {}; }
};
struct Unsaid {
    double bid;
    double ask;
};

TEST(MessageTypesTest, repliesToCommandsCount) {
    auto const reply = []<class Reply>(Reply const& /*which*/) {
        return detail::MessageTypes::of<detail::MessagesOf<Replying<Reply>>>().reply;
    };
    EXPECT_EQ(compared(reply(BidFirst{})), compared(reply(BidFirst{})));
    EXPECT_NE(reply(std::int64_t{}).layout, reply(double{}).layout);
    EXPECT_NE(reply(BidFirst{}).members, detail::unsaid_members);
    EXPECT_NE(reply(BidFirst{}).members, reply(AskFirst{}).members);
    EXPECT_EQ(reply(Unsaid{}).members, detail::unsaid_members);
}

struct WithUnsaid {
    Unsaid prices;
    CARILLON_MEMBERS(prices)
};

// Nothing can be said about the other process's members then.
TEST(MessageTypesTest, typeThatDoesNotSayItsMembersIsToldOfOnce) {
    Device const device = Device::open("emulated");
    SocketPath const path;
    SharedMailbox<Unsaid, Direction::to_host> const unsaid(device, {});
    SharedMailbox<WithUnsaid, Direction::to_host> const within(device, {});
    SharedMailbox<BidFirst, Direction::to_host> const said(device, {});
    SharedMailbox<int, Direction::to_host> const number(device, {});
    Server server;
    unsaid.serve(server, "unsaid");
    within.serve(server, "within");
    number.serve(server, "number");
    said.serve(server, "said");
    server.open(path.get());
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
        Connection const client(path.get(), {.timeout = patience});
        (void)client.mailbox<Unsaid, Direction::to_host>("unsaid");
        (void)client.mailbox<WithUnsaid, Direction::to_host>("within");
        (void)client.mailbox<BidFirst, Direction::to_host>("said");
        (void)client.mailbox<int, Direction::to_host>("number");
    }
    std::string const lines = captured_stderr();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
    for (char const* const name : {"::Unsaid", "::WithUnsaid"}) {
        EXPECT_NE(
            lines.find(std::string(name) + " are compared with the owner's, its members are not"),
            std::string::npos)
            << lines;
    }
}

}  // namespace
}  // namespace carillon::test
