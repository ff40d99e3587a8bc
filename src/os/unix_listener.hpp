// SPDX-License-Identifier: Apache-2.0
// A Unix socket that listens, and its file.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "carillon/detail/host/process_mark.hpp"
#include "os/own_descriptor.hpp"
#include "os/unix_socket.hpp"

namespace carillon::detail {

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

}  // namespace carillon::detail
