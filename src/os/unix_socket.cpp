// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/error.hpp"
#include "os/own_user.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

// SO_PEERPIDFD of Linux 6.5, which older headers do not have.
constexpr int so_peerpidfd = 77;

// The header of a message, with room for its descriptors and no more: the space behind an odd
// number would have room for one.
struct MessageHeader : ::msghdr {
    MessageHeader(std::byte* bytes, std::size_t size, std::size_t descriptors)
        : ::msghdr{}, part{bytes, size} {
        msg_iov = &part;
        msg_iovlen = 1;
        if (descriptors == 0) return;
        msg_control = control.data();
        msg_controllen = CMSG_LEN(descriptors * sizeof(int));
    }

    ::iovec part;
    alignas(::cmsghdr)
        std::array<std::byte, CMSG_SPACE(most_socket_descriptors * sizeof(int))> control{};
};

[[noreturn]] void fail_socket(std::string_view what, std::string_view hint = {}) {
    throw SystemError(what, errno, hint);
}

bool says_closed(int error) {
    return error == EPIPE || error == ECONNRESET || error == ECONNREFUSED || error == ENOTCONN;
}

void check_sent(std::size_t bytes, std::size_t descriptors) {
    if (bytes != 0 && bytes <= most_socket_bytes && descriptors <= most_socket_descriptors) return;
    throw UsageError(
        fmt::format("a message of {} bytes with {} descriptors: the limits are 1 to {} bytes and "
                    "{} descriptors",
                    bytes, descriptors, most_socket_bytes, most_socket_descriptors));
}

void write_descriptors(::msghdr& header, std::span<int const> descriptors) {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): MessageHeader sets it
    ::cmsghdr* const control = CMSG_FIRSTHDR(&header);
    if (control == nullptr) return;
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
}

// From here on this process owns all that came. `into` has room for them.
void take_descriptors(::msghdr& header, std::vector<FileDescriptor>& into) noexcept {
    for (auto* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        std::size_t const size = each->cmsg_len - CMSG_LEN(0);
        for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(each) + at, sizeof(fd));
            FileDescriptor taken(fd);
            if (taken.get() < 0) header.msg_flags |= MSG_CTRUNC;  // no number above 2 is left
            if (taken.get() >= 0) into.push_back(std::move(taken));
        }
    }
}

void check_received(int flags, SocketMessage& message, std::size_t descriptors_expected) {
    if ((flags & MSG_TRUNC) != 0) {
        throw ProtocolError(fmt::format("the other process sent a message of more than {} bytes",
                                        most_socket_bytes));
    }
    bool const more = message.descriptors.size() > descriptors_expected;
    if ((flags & MSG_CTRUNC) == 0 && !more) return;
    // There was room for more: what is missing could not be opened.
    if (message.descriptors.size() < descriptors_expected) {
        message.descriptors.clear();
        message.descriptors_lost = true;
        return;
    }
    throw ProtocolError(
        fmt::format("the other process sent a message with more descriptors than the {} expected",
                    descriptors_expected));
}

ssize_t receive_into(int fd, ::msghdr& header) {
    auto const now = [&] { return ::recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); };
    ssize_t received = retried(now);
    // The other end was closed with messages of ours unread. The system tells that once, and first:
    // messages that the other end sent before can still be received.
    if (received < 0 && errno == ECONNRESET) received = retried(now);
    return received;
}

std::string_view why_not_connected(int error, std::filesystem::path const& path) {
    struct ::stat file {};
    bool const there = ::stat(path.c_str(), &file) == 0;
    if (there && !S_ISSOCK(file.st_mode)) return "the file is not a socket";
    switch (error) {
        case ENOENT:
            return "there is no such socket: start its owner, or give the owner's path";
        case ECONNREFUSED:
            return "no process listens there: the owner has ended";
        case EACCES:
        case EPERM:
            return "this user may not write to the socket or search a folder of its path";
        case EPROTOTYPE:
            return "the socket belongs to another program";
        default:
            return {};
    }
}

// Sets how long connect() itself waits: 0 would be for ever.
void wait_at_most(int fd, std::chrono::nanoseconds longest) {
    using std::chrono::microseconds;
    auto const whole = std::clamp(std::chrono::ceil<microseconds>(longest), microseconds(1),
                                  microseconds(std::chrono::minutes(1)));
    ::timeval const limit{whole.count() / 1'000'000, whole.count() % 1'000'000};
    if (::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0) {
        fail_socket("setsockopt(SO_SNDTIMEO)");
    }
}

void set_blocking(int fd, bool blocking) {
    int const flags = ::fcntl(fd, F_GETFL);
    int const wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    if (flags < 0 || (wanted != flags && ::fcntl(fd, F_SETFL, wanted) != 0)) {
        fail_socket("fcntl(F_SETFL)");
    }
}

}  // namespace

UnixSocket::UnixSocket(OwnDescriptor connected) : fd_(std::move(connected)) {
    set_blocking(fd_.get(), false);
}

bool UnixSocket::send(std::span<std::byte const> bytes, std::span<int const> descriptors) const {
    check_sent(bytes.size(), descriptors.size());
    MessageHeader header(const_cast<std::byte*>(bytes.data()), bytes.size(), descriptors.size());
    write_descriptors(header, descriptors);
    auto const sent =
        retried([&] { return ::sendmsg(fd_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (sent >= 0) return true;
    if (says_closed(errno)) return false;
    fail_socket("sendmsg", errno == EAGAIN ? "the other process does not read its messages" : "");
}

bool UnixSocket::is_closed() const noexcept {
    ::pollfd now{fd_.get(), 0, 0};
    return ::poll(&now, 1, 0) == 1 && (now.revents & POLLHUP) != 0;
}

bool UnixSocket::has_unread() const noexcept {
    int bytes = 0;
    return ::ioctl(fd_.get(), SIOCOUTQ, &bytes) == 0 && bytes != 0;
}

Received UnixSocket::receive(std::size_t descriptors_expected) const {
    std::array<std::byte, most_socket_bytes> bytes;
    descriptors_expected = std::min(descriptors_expected, most_socket_descriptors);
    MessageHeader header(bytes.data(), bytes.size(), descriptors_expected);
    SocketMessage message;
    message.descriptors.reserve(most_socket_descriptors);
    ssize_t const received = receive_into(fd_.get(), header);
    if (received < 0 && errno == EAGAIN) return NothingThere{};
    if (received < 0 && says_closed(errno)) return PeerClosed{};
    if (received < 0) fail_socket("recvmsg");
    take_descriptors(header, message.descriptors);
    check_received(header.msg_flags, message, descriptors_expected);
    if (received == 0) return PeerClosed{};
    message.bytes.assign(bytes.begin(), bytes.begin() + received);
    return message;
}

PeerCredentials UnixSocket::peer() const {
    ::ucred found{};
    ::socklen_t size = sizeof(found);
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) {
        fail_socket("getsockopt(SO_PEERCRED)");
    }
    return {found.pid, found.uid, found.gid};
}

UnixSocket::PeerProcess UnixSocket::peer_process() const {
    int found = -1;
    ::socklen_t size = sizeof(found);
    if (::getsockopt(fd_.get(), SOL_SOCKET, so_peerpidfd, &found, &size) == 0) {
        PeerProcess process{FileDescriptor(found)};
        if (process.end.get() < 0) fail_socket("getsockopt(SO_PEERPIDFD)");
        ::pollfd now{process.end.get(), POLLIN, 0};
        process.ended = ::poll(&now, 1, 0) == 1;
        return process;
    }
    if (errno == ESRCH) return {{}, true};
    if (none_left(errno)) fail_socket("getsockopt(SO_PEERPIDFD)");
    // This system has no SO_PEERPIDFD. Another process may have the number by now. Then the end is
    // told late, and never too early.
    pid_t const number = peer().pid;
    if (number <= 0) return {};
    PeerProcess process{FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, number, 0)))};
    if (process.end.get() >= 0) return process;
    if (none_left(errno)) fail_socket("pidfd_open");
    process.ended = errno == ESRCH;
    return process;
}

std::vector<gid_t> UnixSocket::peer_groups() const {
    std::vector<gid_t> groups(32);
    for (;;) {
        auto size = static_cast<::socklen_t>(groups.size() * sizeof(gid_t));
        int const result = ::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
        std::size_t const all = size / sizeof(gid_t);
        if (result != 0 && (errno != ERANGE || all <= groups.size())) {
            fail_socket("getsockopt(SO_PEERGROUPS)");
        }
        groups.resize(all);
        if (result == 0) return groups;
    }
}

bool is_out_of_room(int error) noexcept {
    return error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS || none_left(error);
}

UnixSocket connect_unix(std::filesystem::path const& path, std::chrono::nanoseconds timeout) {
    ::sockaddr_un const address = unix_address(path);
    Deadline const deadline(timeout);
    OwnDescriptor fd = new_unix_socket();
    set_blocking(fd.get(), timeout.count() > 0);
    for (;;) {
        wait_at_most(fd.get(), deadline.left());
        if (connect_once(fd.get(), address) == 0) return UnixSocket(std::move(fd));
        int const error = errno;
        if (error != EAGAIN && error != EINTR) {
            throw SystemError(fmt::format("connect {}", path.string()), error,
                              why_not_connected(error, path));
        }
        if (deadline.passed()) {
            throw TimeoutError(
                fmt::format("the process at {} did not accept the connection before the timeout",
                            path.string()));
        }
    }
}

OwnDescriptor new_unix_socket() {
    OwnDescriptor fd(
        [] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
    if (fd.get() < 0) fail_socket("socket");
    return fd;
}

::sockaddr_un unix_address(std::filesystem::path const& path) {
    ::sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string const& text = path.native();
    constexpr std::size_t most = longest_unix_path;
    if (text.empty()) throw UsageError("the path of the socket is empty or a null pointer");
    // Linux takes what follows one for a name in no folder, or cuts the path.
    if (text.find('\0') != std::string::npos) {
        throw UsageError("the path of the socket contains a byte 0");
    }
    if (text.size() > most) {
        throw UsageError(
            fmt::format("{}: the path of a socket has at most {} bytes, this one has {}", text,
                        most, text.size()));
    }
    text.copy(address.sun_path, most);
    return address;
}

std::filesystem::path absolute_path(std::filesystem::path const& path) {
    if (path.empty()) return path;
    std::error_code error;
    std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (!error) return absolute;
    throw SystemError(fmt::format("find the current folder for {}", path.string()), error.value(),
                      "the path is relative, and the current folder may be gone");
}

int connect_once(int fd, ::sockaddr_un const& address) {
    return ::connect(fd, reinterpret_cast<::sockaddr const*>(&address), sizeof(address));
}

}  // namespace carillon::detail
