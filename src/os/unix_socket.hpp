// SPDX-License-Identifier: Apache-2.0
// Sockets between processes of one machine, which carry messages whole (SOCK_SEQPACKET) and file
// descriptors with them. None blocks: who wants to wait polls fd(). All are close-on-exec.
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <variant>
#include <vector>

#include "carillon/file_descriptor.hpp"
#include "os/own_descriptor.hpp"

namespace carillon::detail {

inline constexpr std::size_t most_socket_bytes = 4096;  // of a message
inline constexpr std::size_t most_socket_descriptors = 8;
inline constexpr std::size_t longest_unix_path = sizeof(::sockaddr_un::sun_path) - 1;  // in bytes

struct SocketMessage {
    std::vector<std::byte> bytes;
    std::vector<FileDescriptor> descriptors;
    bool descriptors_lost = false;  // since this process may open no more: none is here then
};
struct NothingThere {};  // now; the connection stands
struct PeerClosed {};    // or its process has ended; all that it sent before has been received
using Received = std::variant<SocketMessage, NothingThere, PeerClosed>;

// Of a process as it connected, or of a listener's as it began to listen. Who is in another
// namespace has the pid 0, and the uid and gid that stand for those that have no name here.
struct PeerCredentials {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

// One end of a connection, which no child that was forked has.
class UnixSocket {
   public:
    // Takes over a connected socket, which is non-blocking from then on.
    explicit UnixSocket(OwnDescriptor connected);

    // All of it or nothing, without waiting. False: the other end is closed. Throws UsageError for
    // what no message can be, SystemError, EAGAIN where the other end leaves too many unread. The
    // descriptors stay the caller's.
    [[nodiscard]] bool send(std::span<std::byte const> bytes,
                            std::span<int const> descriptors = {}) const;

    // Whether nobody has the other end any more.
    [[nodiscard]] bool is_closed() const noexcept;

    // Whether the other end has messages of this one's that it has not read, whose descriptors are
    // still on the account of this process's user then.
    [[nodiscard]] bool has_unread() const noexcept;

    // The next message, if there is one. Throws ProtocolError for one with too many bytes, or with
    // more descriptors than are expected: it is gone then, and its descriptors are closed. Where
    // none is expected none is ever opened here, so that a stranger's need not be closed, which may
    // take long. An empty message, which send() refuses, is taken for the end.
    [[nodiscard]] Received receive(
        std::size_t descriptors_expected = most_socket_descriptors) const;

    [[nodiscard]] PeerCredentials peer() const;
    // The supplementary groups of the same process.
    [[nodiscard]] std::vector<gid_t> peer_groups() const;

    // Becomes readable when the process of peer() ends, whoever still has its sockets; `ended`: it
    // has already, and a child of it has the socket. Without a descriptor the system does not say
    // when the process ends: Linux before 6.5 of one in another pid namespace. Throws SystemError
    // where no descriptor is left.
    struct PeerProcess {
        FileDescriptor end;
        bool ended = false;
    };
    [[nodiscard]] PeerProcess peer_process() const;

    [[nodiscard]] int fd() const { return fd_.get(); }  // for poll()

   private:
    OwnDescriptor fd_;
};

// What send() fails for until there is room again, on the system's side or the other end's.
// ETOOMANYREFS: too many descriptors of this process's user are sent that nobody has read.
[[nodiscard]] bool is_out_of_room(int error) noexcept;

// Waits for a listener whose queue is full, and for nothing else. Throws TimeoutError then, and
// SystemError where nobody listens, the path leads nowhere or is not for this user, each with the
// path.
[[nodiscard]] UnixSocket connect_unix(std::filesystem::path const& path,
                                      std::chrono::nanoseconds timeout);

// A new socket, neither bound nor connected.
[[nodiscard]] OwnDescriptor new_unix_socket();
// The same file when the process has gone elsewhere. Throws SystemError where the current folder
// has been removed. An empty path stays empty.
[[nodiscard]] std::filesystem::path absolute_path(std::filesystem::path const& path);
// Throws UsageError for a path that none can have.
[[nodiscard]] ::sockaddr_un unix_address(std::filesystem::path const& path);
// connect(2), as it returns: -1 and errno.
[[nodiscard]] int connect_once(int fd, ::sockaddr_un const& address);

}  // namespace carillon::detail
