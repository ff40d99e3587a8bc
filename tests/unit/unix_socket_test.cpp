// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "carillon/error.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"

namespace carillon::detail {
namespace {

using test::Held;
using test::in_child;

std::vector<std::byte> bytes_of(std::string const& text) {
    auto const all = std::as_bytes(std::span(text));
    return {all.begin(), all.end()};
}

struct Pair {
    static std::array<FileDescriptor, 2> make() {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
        return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
    }
    std::array<FileDescriptor, 2> fds = make();
    UnixSocket here{std::move(fds[0])};
    UnixSocket there{std::move(fds[1])};
};

bool send(UnixSocket const& from, std::string const& text, std::span<int const> fds = {}) {
    return from.send(bytes_of(text), fds);
}

// Expects a message, and returns it.
SocketMessage message_at(UnixSocket const& socket) {
    Received received = socket.receive();
    if (auto* const message = std::get_if<SocketMessage>(&received)) return std::move(*message);
    ADD_FAILURE() << "there is no message";
    return {};
}

bool nothing_at(UnixSocket const& socket) {
    return std::holds_alternative<NothingThere>(socket.receive());
}
bool closed_at(UnixSocket const& socket) {
    return std::holds_alternative<PeerClosed>(socket.receive());
}

// Sends as a process does that does not use UnixSocket.
ssize_t send_raw(UnixSocket const& from, std::size_t bytes, std::size_t descriptors) {
    std::vector<char> content(bytes, 'x');
    ::iovec part{content.data(), bytes};
    std::vector<char> control(CMSG_SPACE(descriptors * sizeof(int)));
    ::msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptors != 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        ::cmsghdr* const first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
        std::fill_n(reinterpret_cast<int*>(CMSG_DATA(first)), descriptors, STDIN_FILENO);
    }
    return ::sendmsg(from.fd(), &header, MSG_NOSIGNAL);
}

TEST(UnixSocketTest, messagesComeWholeAndInOrder) {
    Pair const pair;
    ASSERT_TRUE(send(pair.here, "one"));
    ASSERT_TRUE(send(pair.here, std::string(most_socket_bytes, 'x')));
    EXPECT_EQ(message_at(pair.there).bytes, bytes_of("one"));
    EXPECT_EQ(message_at(pair.there).bytes.size(), most_socket_bytes);
    EXPECT_TRUE(nothing_at(pair.there));
}

TEST(UnixSocketTest, whatIsThereIsSeenByPoll) {
    Pair const pair;
    ::pollfd ready{pair.there.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 0);
    ASSERT_TRUE(send(pair.here, "one"));
    EXPECT_EQ(::poll(&ready, 1, 0), 1);
}

TEST(UnixSocketTest, socketsDoNotBlockAndCloseOnExec) {
    Pair const pair;
    EXPECT_NE(::fcntl(pair.here.fd(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(pair.here.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(UnixSocketTest, descriptorsComeAsOthersOfTheSameFileThatCloseOnExec) {
    Held const before = Held::now();
    {
        Pair const pair;
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
        FileDescriptor const out(pipe[0]);
        {
            FileDescriptor const in(pipe[1]);
            std::array const fds{in.get()};
            ASSERT_TRUE(send(pair.here, "take it", fds));
        }
        SocketMessage const message = message_at(pair.there);
        ASSERT_EQ(message.descriptors.size(), 1U);
        int const fd = message.descriptors[0].get();
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
        ASSERT_EQ(::write(fd, "x", 1), 1);
        char got = 0;
        EXPECT_EQ(::read(out.get(), &got, 1), 1);
        EXPECT_EQ(got, 'x');
    }
    EXPECT_EQ(Held::now(), before);
}

TEST(UnixSocketTest, asManyDescriptorsAsAreAllowedCome) {
    Pair const pair;
    Held const before = Held::now();
    std::vector<int> const fds(most_socket_descriptors, STDIN_FILENO);
    ASSERT_TRUE(send(pair.here, "x", fds));
    EXPECT_EQ(message_at(pair.there).descriptors.size(), most_socket_descriptors);
    EXPECT_EQ(Held::now(), before);
}

TEST(UnixSocketTest, whatNoMessageCanBeIsNotSent) {
    Pair const pair;
    std::vector<int> const many(most_socket_descriptors + 1, STDIN_FILENO);
    CARILLON_EXPECT_ERROR(send(pair.here, ""), UsageError, "a message of 0 bytes");
    CARILLON_EXPECT_ERROR(send(pair.here, std::string(most_socket_bytes + 1, 'x')), UsageError,
                          "4097 bytes");
    CARILLON_EXPECT_ERROR(send(pair.here, "x", many), UsageError, "9 descriptors");
    std::array const none{-1};
    CARILLON_EXPECT_ERROR(send(pair.here, "x", none), SystemError, "sendmsg: EBADF (9): Bad file");
    EXPECT_TRUE(nothing_at(pair.there));
}

// Catches a cut message that is taken for a whole one, and descriptors that leak with it.
TEST(UnixSocketTest, messageThatIsTooLargeIsAnErrorAndTheNextComes) {
    Pair const pair;
    Held const before = Held::now();
    ASSERT_GT(send_raw(pair.here, most_socket_bytes + 1, 2), 0);
    ASSERT_TRUE(send(pair.here, "next"));
    CARILLON_EXPECT_ERROR(pair.there.receive(), ProtocolError,
                          "the other process sent a message of more than 4096 bytes");
    EXPECT_EQ(Held::now(), before);
    EXPECT_EQ(message_at(pair.there).bytes, bytes_of("next"));
}

TEST(UnixSocketTest, moreDescriptorsThanAreExpectedAreAnErrorAndDoNotLeak) {
    Pair const pair;
    Held const before = Held::now();
    for (std::size_t const many : {most_socket_descriptors + 1, std::size_t{200}}) {
        ASSERT_GT(send_raw(pair.here, 1, many), 0);
        CARILLON_EXPECT_ERROR(pair.there.receive(), ProtocolError,
                              "more descriptors than the 8 expected");
    }
    for (std::size_t expected = 1; expected <= most_socket_descriptors; ++expected) {
        ASSERT_GT(send_raw(pair.here, 1, expected + 1), 0);
        CARILLON_EXPECT_ERROR(pair.there.receive(expected), ProtocolError,
                              "than the " + std::to_string(expected) + " expected");
    }
    ASSERT_GT(send_raw(pair.here, 1, 1), 0);
    CARILLON_EXPECT_ERROR(pair.there.receive(0), ProtocolError, "than the 0 expected");
    EXPECT_EQ(Held::now(), before);
}

TEST(UnixSocketTest, asManyDescriptorsAsAreExpectedCome) {
    Pair const pair;
    for (std::size_t expected = 1; expected <= most_socket_descriptors; ++expected) {
        for (std::size_t sent = 0; sent <= expected; ++sent) {
            ASSERT_GT(send_raw(pair.here, 1, sent), 0);
            Received received = pair.there.receive(expected);
            auto const* const message = std::get_if<SocketMessage>(&received);
            ASSERT_NE(message, nullptr);
            EXPECT_EQ(message->descriptors.size(), sent);
            EXPECT_FALSE(message->descriptors_lost);
        }
    }
}

TEST(UnixSocketTest, descriptorsThatThisProcessMayNotOpenAreLostAndToldOf) {
    Pair const pair;
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_GT(send_raw(pair.here, 1, 2), 0);
    int const next = FileDescriptor(::dup(STDIN_FILENO)).get();
    ::rlimit const tight{static_cast<rlim_t>(next) + 1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    SocketMessage const message = message_at(pair.there);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(message.descriptors_lost);
    EXPECT_TRUE(message.descriptors.empty());
    EXPECT_EQ(FileDescriptor(::dup(STDIN_FILENO)).get(), next);
}

TEST(UnixSocketTest, receivedDescriptorsAreNoneOfTheStandardStreams) {
    Pair const pair;
    ASSERT_GT(send_raw(pair.here, 1, 2), 0);
    FileDescriptor const input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    ::close(STDIN_FILENO);
    SocketMessage const message = message_at(pair.there);
    bool const is_free = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
    ASSERT_EQ(::dup2(input.get(), STDIN_FILENO), STDIN_FILENO);
    EXPECT_TRUE(is_free);
    ASSERT_EQ(message.descriptors.size(), 2U);
    for (auto const& each : message.descriptors) EXPECT_GT(each.get(), STDERR_FILENO);
}

// A send does not wait for an end that reads nothing.
TEST(UnixSocketTest, peerThatDoesNotReadIsAnErrorAndLosesNothing) {
    Pair const pair;
    std::size_t sent = 0;
    auto const fill = [&] {
        for (;; ++sent) {
            ASSERT_LT(sent, 100'000U);
            ASSERT_TRUE(send(pair.here, "message"));
        }
    };
    CARILLON_EXPECT_ERROR(fill(), SystemError, "the other process does not read its messages");
    for (std::size_t i = 0; i < sent; ++i) {
        ASSERT_EQ(message_at(pair.there).bytes, bytes_of("message"));
    }
    EXPECT_TRUE(nothing_at(pair.there));
    EXPECT_TRUE(send(pair.here, "message"));
}

TEST(UnixSocketTest, whatWasSentBeforeTheEndStillComes) {
    Pair pair;
    ASSERT_TRUE(send(pair.here, "last"));
    { UnixSocket const gone = std::move(pair.here); }
    EXPECT_EQ(message_at(pair.there).bytes, bytes_of("last"));
    EXPECT_TRUE(closed_at(pair.there));
    EXPECT_TRUE(closed_at(pair.there));
    EXPECT_FALSE(send(pair.there, "answer"));  // and no SIGPIPE
}

// The system reports the unread message first, by ECONNRESET.
TEST(UnixSocketTest, whatWasSentBeforeTheEndComesFromOneThatLeftMessagesUnread) {
    Pair pair;
    ASSERT_TRUE(send(pair.there, "never read"));
    ASSERT_TRUE(send(pair.here, "refused"));
    { UnixSocket const gone = std::move(pair.here); }
    EXPECT_EQ(message_at(pair.there).bytes, bytes_of("refused"));
    EXPECT_TRUE(closed_at(pair.there));
}

TEST(UnixSocketTest, sendingToOneThatLeftMessagesUnreadFindsItClosed) {
    Pair pair;
    ASSERT_TRUE(send(pair.there, "never read"));
    { UnixSocket const gone = std::move(pair.here); }
    EXPECT_FALSE(send(pair.there, "more"));
    EXPECT_FALSE(send(pair.there, "more"));
    EXPECT_TRUE(closed_at(pair.there));
}

// A descriptor that no object of the library's has is passed on by fork().
TEST(UnixSocketTest, processThatEndsClosesItsEnd) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    UnixSocket const there{FileDescriptor(ends[1])};
    FileDescriptor here(ends[0]);
    auto const send_it = [&] { return send(UnixSocket(std::move(here)), "from a child") ? 0 : 1; };
    EXPECT_EQ(in_child(send_it), 0);
    EXPECT_EQ(message_at(there).bytes, bytes_of("from a child"));
    EXPECT_TRUE(nothing_at(there));  // the parent has that end too
    here = FileDescriptor();
    EXPECT_TRUE(closed_at(there));
}

TEST(UnixSocketTest, emptyMessageOfAStrangerIsTheEndAndLeaksNothing) {
    Pair const pair;
    Held const before = Held::now();
    ASSERT_EQ(send_raw(pair.here, 0, 2), 0);
    EXPECT_TRUE(closed_at(pair.there));
    EXPECT_EQ(Held::now(), before);
}

TEST(UnixSocketTest, peerIsKnownByProcessUserAndGroups) {
    Pair const pair;
    PeerCredentials const peer = pair.here.peer();
    EXPECT_EQ(peer.pid, ::getpid());
    EXPECT_EQ(peer.uid, ::geteuid());
    EXPECT_EQ(peer.gid, ::getegid());
    std::vector<gid_t> own(static_cast<std::size_t>(::getgroups(0, nullptr)));
    ASSERT_GE(::getgroups(static_cast<int>(own.size()), own.data()), 0);
    auto groups = pair.here.peer_groups();
    std::sort(own.begin(), own.end());
    std::sort(groups.begin(), groups.end());
    EXPECT_EQ(groups, own);
}

// More groups than the first look has room for; only root can have them.
TEST(UnixSocketTest, manyGroupsOfAPeerAreAllThere) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can take groups";
    EXPECT_EQ(in_child([] {
                  std::vector<gid_t> many;
                  for (gid_t each = 1000; each < 1100; ++each) many.push_back(each);
                  if (::setgroups(many.size(), many.data()) != 0) return 1;
                  Pair const pair;
                  auto groups = pair.here.peer_groups();
                  std::sort(groups.begin(), groups.end());
                  return groups == many ? 0 : 2;
              }),
              0);
}

TEST(UnixSocketTest, whatIsNoSocketIsASystemErrorThatNamesTheCall) {
    CARILLON_EXPECT_ERROR(UnixSocket(FileDescriptor()), SystemError, "fcntl");
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    FileDescriptor const out(pipe[0]);
    UnixSocket const wrong{FileDescriptor(pipe[1])};
    CARILLON_EXPECT_ERROR(send(wrong, "x"), SystemError,
                          "sendmsg: ENOTSOCK (88): Socket operation on non");
    CARILLON_EXPECT_ERROR(wrong.receive(), SystemError, "recvmsg: ENOTSOCK (88): Socket oper");
    CARILLON_EXPECT_ERROR(wrong.peer(), SystemError, "getsockopt(SO_PEERCRED)");
    CARILLON_EXPECT_ERROR(wrong.peer_groups(), SystemError, "getsockopt(SO_PEERGROUPS)");
}

}  // namespace
}  // namespace carillon::detail
