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

// The file by which others find a socket, removed with the object: by the process that made it, and
// only while it is that file, by device and inode. The socket has to be open then: its inode's
// number might be another's otherwise.
class SocketFile {
   public:
    // Binds the socket, and listens. Whom `mode` lets may connect from the moment on that the path
    // leads to it, and nobody else, whatever the umask is. `lock`: the open file that no other
    // owner in the path's folder has.
    SocketFile(int socket, std::filesystem::path const& path, int lock, mode_t mode);
    ~SocketFile();
    SocketFile(SocketFile const&) = delete;
    SocketFile& operator=(SocketFile const&) = delete;

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

// Listens at a path for as long as it lives, and removes the file then. What a listener has left
// there that is gone is replaced; what else is there stays, and is an error.
//
// Who listens holds a lock on the file `path`.lock, so that of two that start at once one does not
// remove what the other has just made. That file stays: were it removed, one process could hold the
// lock of the file that had the name before, and another that of a new one.
//
// A child that was forked has none of it: the path is free when its parent has ended.
class UnixListener {
   public:
    // `mode`: who may connect, as the permission to write says. Throws UsageError for a path that
    // no socket can have or that is taken, SystemError for one that the system refuses.
    UnixListener(std::filesystem::path const& path, mode_t mode);

    // Who has connected first of those that have not been taken; nothing if there is none. Throws
    // ForkError in a child and SystemError where no descriptor is left: whoever has connected
    // stays, and poll() goes on telling of it.
    [[nodiscard]] std::optional<UnixSocket> accept() const;

    [[nodiscard]] int fd() const { return socket_.get(); }  // for poll()
    // Which of its two files is not at its place any more, since somebody has removed it: "socket",
    // "lock", or nothing.
    [[nodiscard]] std::string_view missing() const;

    // Connections that wait to be taken, at most; then others wait in connect_unix.
    static constexpr int longest_queue = 128;

   private:
    ProcessMark process_;
    std::filesystem::path lock_path_;  // absolute
    OwnDescriptor lock_;
    OwnDescriptor socket_;
    SocketFile file_;
};

}  // namespace carillon::detail
