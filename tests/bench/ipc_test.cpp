// SPDX-License-Identifier: Apache-2.0
// `carillon-bench ipc`: how a client that checks its replies judges wrong ones. command_test.py
// tests the processes.
#include <gtest/gtest.h>

#include <carillon/error.hpp>
#include <chrono>
#include <functional>
#include <map>

#include "ipc/checked_client.hpp"

namespace carillon::tool {
namespace {

// Answers as its block would, except that `wrong` changes a reply.
class FakeClient {
   public:
    [[nodiscard]] IpcReply call(IpcRequest const& request, std::chrono::nanoseconds /*timeout*/) {
        IpcReply reply = handler(request);
        if (wrong) wrong(request, reply);
        return reply;
    }
    [[nodiscard]] Ticket submit(IpcRequest const& request, std::chrono::nanoseconds timeout) {
        replies[request.number] = call(request, timeout);
        return {1, request.number};
    }
    [[nodiscard]] IpcReply wait(Ticket const& ticket, std::chrono::nanoseconds /*timeout*/) {
        if (ticket.number() >= gone_from) throw OwnerGoneError("wait", "it has gone");
        return replies.at(ticket.number());
    }

    IpcHandler handler{.count = 17};  // what others have asked before
    std::function<void(IpcRequest const&, IpcReply&)> wrong;
    std::map<std::uint64_t, IpcReply> replies;
    std::uint64_t gone_from = ~std::uint64_t{0};
};

class CheckedClientTest : public testing::Test {
   protected:
    void expect_error(std::function<void()> const& step) {
        client.burst(3);
        EXPECT_THROW(step(), Error);
    }

    FakeClient fake;
    CheckedClient<FakeClient> client{fake, 3};
};

TEST_F(CheckedClientTest, repliesAsTheyShouldBeAreCounted) {
    for (unsigned i = 0; i < 10; ++i) {
        (void)client.call();
        client.burst(4);
    }
    EXPECT_EQ(client.sent(), 50U);
    EXPECT_EQ(client.answered(), 50U);
    EXPECT_EQ(client.count(), 67U);
}

TEST_F(CheckedClientTest, aReplyToAnotherRequestIsSeen) {
    expect_error([&] {
        client.submit();
        client.submit();
        std::swap(fake.replies.at(4), fake.replies.at(5));
        client.take();
    });
}

TEST_F(CheckedClientTest, aReplyToAnotherClientIsSeen) {
    expect_error([&] {
        fake.wrong = [](IpcRequest const& request, IpcReply& reply) {
            reply = make_soak_reply(make_ipc_request(4, request.number), reply.count);
        };
        (void)client.call();
    });
}

TEST_F(CheckedClientTest, everyWordOfAReplyIsLookedAt) {
    for (unsigned word = 0; word < std::size(IpcReply{}.hash); ++word) {
        CheckedClient another(fake, 3);
        fake.wrong = [&](IpcRequest const&, IpcReply& reply) { reply.hash[word] ^= 1U; };
        EXPECT_THROW((void)another.call(), Error) << word;
    }
}

TEST_F(CheckedClientTest, aRequestThatWasServedTwiceIsSeen) {
    expect_error([&] {
        ++fake.handler.count;
        (void)client.call();
    });
}

TEST_F(CheckedClientTest, aRequestThatWasLostIsSeen) {
    expect_error([&] {
        --fake.handler.count;
        (void)client.call();
    });
}

TEST_F(CheckedClientTest, aRequestThatOvertookAnotherIsSeen) {
    expect_error([&] {
        client.submit();
        client.submit();
        for (auto const& [number, count] : {std::pair{4U, 22U}, std::pair{5U, 21U}})
            fake.replies.at(number) = make_soak_reply(make_ipc_request(3, number), count);
        client.take();
    });
}

TEST_F(CheckedClientTest, whatAnOwnerThatHasGoneDidNotAnswerIsUnknown) {
    client.burst(5);
    for (unsigned i = 0; i < 4; ++i) client.submit();
    fake.gone_from = 8;
    EXPECT_THROW(client.burst(0), OwnerGoneError);
    client.settle();
    EXPECT_EQ(client.sent(), 9U);
    EXPECT_EQ(client.answered(), 7U);
    EXPECT_EQ(client.unknown(), 2U);
}

}  // namespace
}  // namespace carillon::tool
