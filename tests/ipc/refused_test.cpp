// SPDX-License-Identifier: Apache-2.0
// Clients that an owner refuses, and clients that do not keep to the handshake. P is the owner, in
// this process; C is a client, in this process or in another.
#include <errno.h>  // program_invocation_short_name
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/askers.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class RefusedTest : public WithKernelAndStore {
   protected:
    // The reason why C gets no channel.
    template <class Request = Ask, class Reply = Told>
    [[nodiscard]] static RefusalReason refusal(Connection const& owner,
                                               std::string_view object = "kernel") {
        return refusal_of([&] { return owner.channel<Request, Reply>(object).all_answered(); });
    }
};

TEST_F(RefusedTest, otherMessagesThanTheKernels) {
    Server const server = serve();
    Process client({"want-others", path()});
    std::string const said = client.line();
    EXPECT_NE(said.find("Told of 16"), std::string::npos) << said;
    EXPECT_EQ(client.status(), 0);
}

struct Fit {
    std::uint64_t value;
};
TEST_F(RefusedTest, messagesOfTheSameSizeAndAnotherName) {
    Server const server = serve();
    EXPECT_EQ((refusal<Fit, Told>(connect())), RefusalReason::wrong_types);
}

TEST_F(RefusedTest, nameThatNothingIsServedBy) {
    Server const server = serve({}, "quotes");
    Connection const owner = connect();
    EXPECT_EQ(owner.owner().name, "quotes");
    EXPECT_EQ(refusal(owner), RefusalReason::unknown_object);
    auto channel = owner.channel<Ask, Told>("quotes");
    EXPECT_EQ(channel.call({4}, patience).twice, 8U);
}

TEST_F(RefusedTest, moreClientsThanBlocks) {
    Server const server = serve();
    Connection const owner = connect();
    auto const first = owner.channel<Ask, Told>();
    {
        auto const second = owner.channel<Ask, Told>();
        EXPECT_EQ(refusal(owner), RefusalReason::full);
    }
    // The second channel has given its block up, which serves the third one.
    auto third = owner.channel<Ask, Told>();
    EXPECT_EQ(third.call({1}, patience).twice, 2U);
}

TEST_F(RefusedTest, moreChannelsThanAConnectionMayHave) {
    Server const server = serve({.channels_per_connection = 1});
    Connection const owner = connect();
    auto const first = owner.channel<Ask, Told>();
    EXPECT_EQ(refusal(owner), RefusalReason::too_many_of_client);
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>()), RefusedError,
                          "the connection would have 2 channels, but the owner's option "
                          "channels_per_connection is 1");
    auto const of_another = connect().channel<Ask, Told>();
}

TEST_F(RefusedTest, moreBytesThanAConnectionMayHave) {
    Server const server = serve({.bytes_per_connection = 1000});
    Connection const owner = connect();
    EXPECT_EQ(refusal(owner), RefusalReason::too_many_of_client);
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>()), RefusedError,
                          "the owner's option bytes_per_connection is 1000");
}

TEST_F(RefusedTest, moreDescriptorsThanAConnectionMayHave) {
    Server const server = serve({.descriptors_per_connection = 3});
    Connection const owner = connect();
    {
        auto const first = owner.channel<Ask, Told>();
        CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>()), RefusedError,
                              "the connection would have 4 descriptors, but the owner's option "
                              "descriptors_per_connection is 3");
    }
    // C may have again what it gives back.
    auto const again = owner.channel<Ask, Told>();
}

TEST_F(RefusedTest, moreConnectionsThanTheOwnerWants) {
    Server const server = serve({.connections = 1});
    Connection const first = connect();
    CARILLON_EXPECT_ERROR(connect(), RefusedError, "there are already 1 connections");
}

TEST_F(RefusedTest, kernelThatDrains) {
    Server const server = serve();
    Connection const owner = connect();
    // P's kernel is stopped.
    served().stop();
    EXPECT_EQ(refusal(owner), RefusalReason::stopping);
}

TEST_F(RefusedTest, usersThatAreNotAmongThoseThatMay) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
    constexpr unsigned nobody = 65534;
    Buffer const owners = store().create("owners", 100).seal();
    struct Row {
        ServeOptions options;
        char const* channel;  // what C says, who calls a kernel
        char const* buffer;   // and who gets a buffer
    };
    for (Row const& row : {Row{{}, "Permission denied", "Permission denied"},  // the socket's mode
                           {{.mode = 0666, .users = {nobody - 1}}, "not allowed", "not allowed"},
                           {{.mode = 0666, .users = {nobody}}, "answered", "100 bytes"},
                           {{.mode = 0666, .groups = {nobody}}, "answered", "100 bytes"}}) {
        Server const server = serve(row.options);
        Process client({"be-another", path(), std::to_string(nobody)});
        bool const let_in = row.channel == std::string_view("answered");
        std::string const called = client.line();
        EXPECT_TRUE(let_in ? called == row.channel : called.find(row.channel) != std::string::npos)
            << called;
        Process reader({"store-be-another", path(), std::to_string(nobody)});
        std::string const got = reader.line();
        EXPECT_TRUE(let_in ? got == row.buffer : got.find(row.buffer) != std::string::npos) << got;
        if (!let_in) continue;
        // It gets the buffers of others, and cannot remove them.
        EXPECT_NE(reader.line().find("not allowed"), std::string::npos);
        EXPECT_EQ(reader.status(), 0);
        EXPECT_EQ(store().list().size(), 1U);
    }
}

// Users that are not allowed hear so at once, and take no connection from those that are.
TEST_F(RefusedTest, usersThatMayNotFillNothing) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
    Server const server = serve(quiet({.mode = 0666, .users = {1}, .connections = 1}));
    Process many({"crowd", path(), "65534", "20"});
    EXPECT_EQ(many.line(), "refused");
    auto channel = connect().channel<Ask, Told>();
    EXPECT_EQ(channel.call({2}, patience).twice, 4U);
    many.close_input();
    EXPECT_EQ(many.status(), 0);
}

// A function that the server calls may call the server.
TEST_F(RefusedTest, logMayAskTheServerAndAdd) {
    std::optional<Server> server;
    std::atomic<std::size_t> clients = 99;
    bool added = false;
    server.emplace(serve({.log = [&](std::string const& /*line*/) {
        if (!std::exchange(added, true)) server->add("another", served());
        clients = server->clients().size();
    }}));
    Connection const owner = connect();
    EXPECT_EQ(refusal(owner, "quotes"), RefusalReason::unknown_object);
    EXPECT_TRUE(eventually([&] { return clients == 1; }));
    auto const channel = owner.channel<Ask, Told>("another");
    server.reset();
}

// Catches a thread that waits for itself.
TEST_F(RefusedTest, logMayLetTheServerGo) {
    std::optional<Server> server;
    std::atomic<bool> gone{false};
    server.emplace(serve({.log = [&](std::string const& /*line*/) {
        server.reset();
        gone = true;
    }}));
    Connection const owner = connect();
    EXPECT_EQ(refusal(owner, "quotes"), RefusalReason::unknown_object);
    EXPECT_TRUE(eventually([&] { return gone.load(); }));
    Server const next = serve(quiet());  // the path is free
    EXPECT_EQ(refusal(connect(), "quotes"), RefusalReason::unknown_object);
}

// However many there are: the rest are counted.
TEST_F(RefusedTest, oneUserHasSoManyLinesInAWhile) {
    constexpr unsigned refusals = 2000;
    std::vector<std::string> lines;
    {
        Server const server =
            serve({.log = [&](std::string const& line) { lines.push_back(line); }});
        Connection const owner = connect();
        for (unsigned i = 0; i < refusals; ++i) {
            ASSERT_EQ(refusal(owner, "quotes"), RefusalReason::unknown_object);
        }
    }
    unsigned long told = 0;
    for (std::string const& line : lines) {
        auto const at = line.find(": ", line.find(": ") + 1);
        bool const of_many = line.find("are left out") != std::string::npos;
        told += of_many ? std::stoul(line.substr(at + 2)) : 1;
    }
    EXPECT_EQ(told, refusals);
    EXPECT_LT(lines.size(), refusals);
}

// A function that the server calls may call the server, and throw.
TEST_F(RefusedTest, ownerHasALineForEachWhomItRefusesAndMayBeAskedMeanwhile) {
    LoggedLines log;
    std::optional<Server> server;
    server.emplace(serve({.log = [&](std::string const& line) {
        EXPECT_LE(server->clients().size(), 2U);
        log.add(line);
        throw std::runtime_error("of no use to the server");
    }}));
    {
        Connection const owner = connect({.name = "a feed", .timeout = patience});
        EXPECT_EQ(refusal(owner, "quotes"), RefusalReason::unknown_object);
        EXPECT_EQ((refusal<Fit, Told>(owner)), RefusalReason::wrong_types);
    }
    {
        Store const client = connect<Store>({.name = "a reader", .timeout = patience});
        Buffer const open = client.create("open", 1);
        EXPECT_EQ(refusal_of([&] { return client.get("none"); }), RefusalReason::unknown_object);
        EXPECT_EQ(refusal_of([&] { return client.get("open"); }), RefusalReason::not_sealed);
        EXPECT_EQ(refusal_of([&] { return client.create("open", 1); }), RefusalReason::name_taken);
        EXPECT_EQ(refusal_of([&] { return client.create("", 1U << 20U); }), RefusalReason::full);
    }
    detail::UnixSocket const stranger = stranger_at(path());
    EXPECT_TRUE(stranger.send(std::vector<std::byte>(64)));
    EXPECT_TRUE(eventually([&] { return log.now().size() == 7; }));
    server.reset();
    std::vector<std::string> const lines = log.now();
    std::string const process = ", process " + std::to_string(::getpid()) + " of user ";
    std::pair<char const*, char const*> const said[] = {
        {"a feed", "refused (unknown object): there is no \"quotes\""},
        {"a feed", "refused (wrong types): "},
        {"a reader", "refused (unknown object): the store has no buffer \"none\""},
        {"a reader", "refused (not sealed): "},
        {"a reader", "refused (name taken): "},
        {"a reader", "refused (full): "},
        {"somebody", "refused (bad message): "}};
    ASSERT_EQ(lines.size(), std::size(said));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_NE(lines[i].find(said[i].first + process), std::string::npos) << lines[i];
        EXPECT_NE(lines[i].find(said[i].second), std::string::npos) << lines[i];
    }
}

// 1. C cannot map the memory that it is lent, of a channel or of a buffer, and says why. 2. P logs
// a line, and has the block back, or the buffer is gone.
TEST_F(RefusedTest, ownerHasALineWhereAClientCannotMap) {
    auto const line_about = [&](detail::Message const& ask, detail::Message const& unmapped,
                                auto const& taken) {
        std::vector<std::string> lines;
        {
            Server const server =
                serve({.log = [&](std::string const& line) { lines.push_back(line); }});
            Connection const watcher = connect();
            detail::UnixSocket const blind = known_at(path(), "blind");
            EXPECT_TRUE(say(blind, ask, 7));
            EXPECT_TRUE(eventually([&] { return taken(watcher.status()) == 1; }));
            for (unsigned i = 0; i < 2; ++i) {
                EXPECT_TRUE(say(blind, unmapped));
                EXPECT_TRUE(eventually([&] { return taken(watcher.status()) == 0; }));
            }
        }
        EXPECT_EQ(lines.size(), 1U);
        if (lines.empty()) return std::string();
        EXPECT_NE(lines[0].find("blind, process "), std::string::npos) << lines[0];
        return lines[0];
    };
    auto const blocks = [](OwnerStatus const& status) {
        return std::ranges::count(status.objects.at(0).blocks, "blind", &ServedBlock::client);
    };
    auto const buffers = [](OwnerStatus const& status) {
        return static_cast<std::ptrdiff_t>(status.store.value().buffers);
    };
    EXPECT_NE(line_about(wish_for("kernel"), detail::Mapped{1, false, "no such\nGPU"}, blocks)
                  .find("could not map \"kernel\": no such GPU"),
              std::string::npos);
    EXPECT_NE(line_about(detail::CreateBuffer{"a", 100, false}, detail::UnmappedBuffer{1, "no GPU"},
                         buffers)
                  .find("could not map the buffer number 1: no GPU"),
              std::string::npos);
}

TEST_F(RefusedTest, nonsenseEndsTheConnectionAndHarmsNoOther) {
    Server const server = serve();
    Connection const other = connect();
    auto channel = other.channel<Ask, Told>();
    detail::UnixSocket const stranger = stranger_at(path());
    std::array<std::byte, 64> const nonsense{};
    EXPECT_TRUE(stranger.send(nonsense));
    EXPECT_EQ(last_words(stranger), RefusalReason::bad_message);
    EXPECT_EQ(channel.call({3}, patience).twice, 6U);
}

TEST_F(RefusedTest, optionsThatMakeNoSense) {
    CARILLON_EXPECT_ERROR(serve({.name = ""}), UsageError, "a name of 0 characters");
    CARILLON_EXPECT_ERROR(serve({.name = std::string(64, 'x')}), UsageError, "64 characters");
    CARILLON_EXPECT_ERROR(serve({}, ""), UsageError, "a name of 0 characters");
    CARILLON_EXPECT_ERROR(serve({.name = "a\nb"}), UsageError,
                          "PersistentKernel::serve: the name of the owner has a control character");
    CARILLON_EXPECT_ERROR(serve({.mode = 01777}), UsageError, "1777");
    CARILLON_EXPECT_ERROR(serve({.mode = 0}), UsageError, "mode 0 lets no process connect");
    CARILLON_EXPECT_ERROR(serve({.users = {0, UINT32_MAX}}), UsageError,
                          "an entry of users is 4294967295, which names no user or group");
    CARILLON_EXPECT_ERROR(serve({.groups = {UINT32_MAX}}), UsageError, "an entry of groups is");
    CARILLON_EXPECT_ERROR(serve({.connections = 0}), UsageError,
                          "ServeOptions::connections is 0: no client could connect");
    CARILLON_EXPECT_ERROR(serve({.channels_per_connection = 0}), UsageError,
                          "ServeOptions::channels_per_connection is 0");
    CARILLON_EXPECT_ERROR(serve({.bytes_per_connection = 0}), UsageError,
                          "ServeOptions::bytes_per_connection is 0");
    CARILLON_EXPECT_ERROR(serve({.descriptors_per_connection = 0}), UsageError,
                          "ServeOptions::descriptors_per_connection is 0");
    CARILLON_EXPECT_ERROR(serve({.buffers_per_connection = 0}), UsageError,
                          "ServeOptions::buffers_per_connection is 0");
    CARILLON_EXPECT_ERROR(Server(path(), {.mode = 01777}), UsageError, "Server: mode 1777");
    Server const server = serve();
    CARILLON_EXPECT_ERROR(serve(), UsageError, "");
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("")), UsageError, "1 to 63");
    CARILLON_EXPECT_ERROR((owner.channel<Ask, Told>("a\x7f")), UsageError,
                          "Connection::channel: the name of the object has a control character");
}

template <class Asker>
class ConnectOptionsTest : public RefusedTest {};
TYPED_TEST_SUITE(ConnectOptionsTest, Askers, AskerName);

TYPED_TEST(ConnectOptionsTest, thoseThatMakeNoSense) {
    Server const server = this->serve();
    auto const expect_refused = [&](ConnectOptions const& options, std::string const& why) {
        CARILLON_EXPECT_ERROR((void)TypeParam(this->path(), options), UsageError,
                              std::string(TypeParam::connects) + ": " + why);
    };
    expect_refused({.name = std::string(64, 'x')}, "a name of 64 characters");
    expect_refused({.owner_user = UINT32_MAX}, "owner_user is 4294967295");
    expect_refused({.timeout = 0ns}, "the timeout must be above 0");
    expect_refused({.wait_for_owner = -1ns}, "wait_for_owner must be 0 or more, not -1 ns");
    expect_refused({.name = "a\nb"}, "the name of the client has a control character");
    expect_refused({.name = "m\xfcller"}, "the name of the client has a control character");
}

TEST_F(RefusedTest, programOfAnyNameMayConnect) {
    Server const server = serve();
    char* const before = program_invocation_short_name;
    for (std::string name : {std::string(), std::string(200, 'x'), std::string("a\nb")}) {
        program_invocation_short_name = name.data();
        EXPECT_NO_THROW((void)connect()) << name;
    }
    std::string cut = std::string(62, 'x') + "\xc3\xa9";
    program_invocation_short_name = cut.data();
    EXPECT_EQ(detail::name_of_program(), std::string(62, 'x'));
    program_invocation_short_name = before;
}

TEST_F(RefusedTest, nobodyServes) {
    CARILLON_EXPECT_ERROR(connect(), SystemError, path());
    CARILLON_EXPECT_ERROR(Connection(path(), {.wait_for_owner = 20ms}), SystemError, path());
}

}  // namespace
}  // namespace carillon::test
