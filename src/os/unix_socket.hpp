// SPDX-License-Identifier: Apache-2.0
// Sockets between processes of one machine, which carry messages whole (SOCK_SEQPACKET) and file
// descriptors with them. No socket blocks: a caller polls fd(), and that of a Wakeup. All are
// close-on-exec.
#pragma once

#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"
#include "carillon/file_descriptor.hpp"
#include "os/own_descriptor.hpp"

namespace carillon::detail {

inline constexpr std::size_t most_socket_bytes = 4096;  // of a message
inline constexpr std::size_t most_socket_descriptors = 8;
inline constexpr std::size_t longest_unix_path = sizeof(::sockaddr_un::sun_path) - 1;  // in bytes

struct SocketMessage {
    std::vector<std::byte> bytes;
    std::vector<FileDescriptor> descriptors;
    bool descriptors_lost = false;  // this process may open no more: none is here then
};
struct NothingThere {};  // the connection stands
struct PeerClosed {};    // or its process has ended; all that it sent before has been received
using Received = std::variant<SocketMessage, NothingThere, PeerClosed>;

// The credentials of a process as it connected, or of a listener's as it began to listen. A process
// in another namespace has the pid 0, and the uid and gid of those without a name here.
struct PeerCredentials {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

// One end of a connection. A forked child does not have it.
class UnixSocket {
   public:
    // Takes over a connected socket, which is non-blocking from then on.
    explicit UnixSocket(OwnDescriptor connected);

    // Sends all of it or nothing, without waiting. False: the other end is closed. Throws
    // UsageError for an impossible message, SystemError, EAGAIN if the other end leaves too many
    // unread. The caller keeps the descriptors.
    [[nodiscard]] bool send(std::span<std::byte const> bytes,
                            std::span<int const> descriptors = {}) const;

    // Whether nobody has the other end any more.
    [[nodiscard]] bool is_closed() const noexcept;

    // Whether the other end has not read all messages of this one; their descriptors still count as
    // this process's user's.
    [[nodiscard]] bool has_unread() const noexcept;

    // The next message, if there is one. Throws ProtocolError for a message with too many bytes, or
    // with more descriptors than expected: it is gone then, and its descriptors are closed. If none
    // is expected, none is ever opened here: closing a stranger's may take long. An empty message,
    // which send() refuses, is taken for the end.
    [[nodiscard]] Received receive(
        std::size_t descriptors_expected = most_socket_descriptors) const;

    [[nodiscard]] PeerCredentials peer() const;
    // The supplementary groups of the same process.
    [[nodiscard]] std::vector<gid_t> peer_groups() const;

    // `end` becomes readable when the process of peer() ends, whoever still has its sockets;
    // `ended`: it has ended already, and a child of it has the socket. `end` is empty if the system
    // does not say when the process ends: Linux before 6.5 for a process in another pid namespace.
    // Throws SystemError if no descriptor is left.
    struct PeerProcess {
        FileDescriptor end;
        bool ended = false;
    };
    [[nodiscard]] PeerProcess peer_process() const;

    [[nodiscard]] int fd() const { return fd_.get(); }  // for poll()

   private:
    OwnDescriptor fd_;
};

// Whether send() fails for `error` until there is room again, on the system's side or the other
// end's. ETOOMANYREFS: too many descriptors that this process's user has sent are unread.
[[nodiscard]] bool is_out_of_room(int error) noexcept;

// Waits for a listener whose queue is full, and for nothing else. Throws TimeoutError then, and
// SystemError if nobody listens, or the path leads nowhere or is not for this user, each with the
// path.
[[nodiscard]] UnixSocket connect_unix(std::filesystem::path const& path,
                                      std::chrono::nanoseconds timeout);

// A new socket, neither bound nor connected.
[[nodiscard]] OwnDescriptor new_unix_socket();
// The path of the file from the root: it stays right when the process goes elsewhere. Throws
// SystemError if the current folder has been removed. An empty path stays empty.
[[nodiscard]] std::filesystem::path absolute_path(std::filesystem::path const& path);
// Throws UsageError for a path that no socket can have.
[[nodiscard]] ::sockaddr_un unix_address(std::filesystem::path const& path);
// connect(2), as it returns: -1 and errno.
[[nodiscard]] int connect_once(int fd, ::sockaddr_un const& address);

// The file by which others find a socket. The object removes it in the process that made it, and
// only while it is that file, by device and inode. The socket has to be open then: otherwise
// another file might have its inode's number.
class SocketFile {
   public:
    // Binds the socket, and listens. Users that `mode` lets in may connect from the moment on that
    // the path leads to it, and nobody else, whatever the umask is. `lock`: the open file that no
    // other owner in the path's folder has.
    SocketFile(int socket, std::filesystem::path const& path, int lock, mode_t mode);
    ~SocketFile();
    SocketFile& operator=(SocketFile&&) = delete;

    [[nodiscard]] bool is_there() const;

   private:
    class FirstName;

    explicit SocketFile(std::filesystem::path const& path);  // none yet
    void give_mode(std::filesystem::path const& path, mode_t mode);

    std::filesystem::path path_;  // absolute: the process may go elsewhere
    ProcessMark process_;
    dev_t device_ = 0;
    ino_t inode_ = 0;  // no file has 0
};

// Listens at a path for as long as it lives, and removes the file then. It replaces the file of a
// listener that is gone; any other file there stays, and is an error.
//
// A listener holds a lock on the file `path`.lock: if two start at once, neither removes the socket
// of the other. That file stays: if it were removed, one process could hold the lock of the former
// file of that name, and another that of a new one.
//
// A forked child has none of it: the path is free when its parent has ended.
class UnixListener {
   public:
    // `mode`: its permission to write says who may connect. Throws UsageError for a path that no
    // socket can have or that is taken, SystemError for one that the system refuses.
    UnixListener(std::filesystem::path const& path, mode_t mode);

    // Takes the connection that has waited longest; nothing if there is none. Throws ForkError in a
    // child and SystemError if no descriptor is left: the connection waits on, and poll() goes on
    // telling of it.
    [[nodiscard]] std::optional<UnixSocket> accept() const;

    [[nodiscard]] int fd() const { return socket_.get(); }  // for poll()
    // Which of its two files somebody has removed: "socket", "lock", or nothing.
    [[nodiscard]] std::string_view missing() const;

    // Connections that wait to be taken, at most; others wait in connect_unix.
    static constexpr int longest_queue = 128;

   private:
    ProcessMark process_;
    std::filesystem::path lock_path_;  // absolute
    OwnDescriptor lock_;
    OwnDescriptor socket_;
    SocketFile file_;
};

// Wakes a thread that polls fd(). Any thread may call it.
class Wakeup {
   public:
    // Throws SystemError.
    Wakeup() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (event_.get() < 0) throw SystemError("eventfd", errno);
    }

    void wake() const noexcept { (void)::eventfd_write(event_.get(), 1); }  // full: it is awake
    void reset() const noexcept {  // until it is woken again
        std::uint64_t count = 0;
        (void)::eventfd_read(event_.get(), &count);
    }
    [[nodiscard]] int fd() const { return event_.get(); }

   private:
    FileDescriptor event_;
};

}  // namespace carillon::detail
