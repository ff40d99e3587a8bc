// SPDX-License-Identifier: Apache-2.0
// A Unix socket that listens, and its file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "carillon/error.hpp"
#include "os/process.hpp"
#include "os/unix_socket.hpp"

namespace carillon::detail {
namespace {

[[noreturn]] void fail_listening(std::string_view what, std::filesystem::path const& path,
                                 std::string_view hint = {}) {
    int const error = errno;
    throw SystemError(fmt::format("{} {}", what, path.string()), error, hint);
}

[[noreturn]] void throw_taken(std::filesystem::path const& path, std::string_view by) {
    throw UsageError(fmt::format("{} is taken: {}", path.string(), by));
}

std::filesystem::path lock_path(std::filesystem::path path) { return path += ".lock"; }

// The process holds the lock until it closes this.
OwnDescriptor lock_for(std::filesystem::path const& path) {
    (void)unix_address(path);
    std::filesystem::path const file = lock_path(path);
    constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    OwnDescriptor lock([&] { return retried([&] { return ::open(file.c_str(), flags, 0600); }); });
    if (lock.get() < 0) {
        fail_listening("open", file,
                       errno == ENOENT ? "the folder of the socket does not exist" : "");
    }
    if (retried([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) == 0) return lock;
    if (errno == EWOULDBLOCK) throw_taken(path, "another owner holds its lock");
    fail_listening("flock", file);
}

// Connects to ask whether somebody listens there; false: nobody does any more.
bool somebody_listens(std::filesystem::path const& path) {
    OwnDescriptor const probe = new_unix_socket();
    auto const address = unix_address(path);
    if (retried([&] { return connect_once(probe.get(), address); }) == 0) return true;
    // EAGAIN: the listener's queue is full. EPROTOTYPE: it is not of our type.
    if (errno == EAGAIN || errno == EPROTOTYPE) return true;
    if (errno == ECONNREFUSED || errno == ENOENT) return false;
    fail_listening("connect", path, "cannot find out whether a process listens there");
}

// The caller holds the lock: nobody puts a new one there meanwhile.
void remove_stale(std::filesystem::path const& path) {
    struct ::stat file {};
    if (::lstat(path.c_str(), &file) != 0) {
        if (errno == ENOENT) return;
        fail_listening("lstat", path);
    }
    if (!S_ISSOCK(file.st_mode)) throw_taken(path, "it is a file, not a socket");
    if (somebody_listens(path)) throw_taken(path, "another process listens there");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_listening("unlink", path);
}

OwnDescriptor socket_for(std::filesystem::path const& path, mode_t mode) {
    if ((mode & ~mode_t{0777}) != 0) {
        throw UsageError(fmt::format("{:o} is not a socket mode (0 to 777)", mode));
    }
    remove_stale(path);
    return new_unix_socket();
}

}  // namespace

// The name is in the path's folder until nobody needs it any more.
class SocketFile::FirstName {
   public:
    // Another owner has another lock. A name that a killed owner has left is removed.
    FirstName(std::filesystem::path const& path, int lock) {
        struct ::stat file {};
        if (::fstat(lock, &file) != 0) fail_listening("fstat", lock_path(path));
        std::string const known = path.filename().native().substr(0, longest_part);
        path_ = path.parent_path() / fmt::format("{}.{}.new", known, file.st_ino);
        ::unlink(path_.c_str());
    }
    ~FirstName() { ::unlink(path_.c_str()); }
    FirstName& operator=(FirstName&&) = delete;

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    void bind(int socket) const {
        FileDescriptor folder;
        auto const address = unix_address(short_path(folder));
        if (::bind(socket, reinterpret_cast<::sockaddr const*>(&address), sizeof(address)) != 0) {
            fail_listening("bind", path_);
        }
    }

   private:
    static constexpr std::size_t longest_part = 40;

    // The path, or one by a descriptor of the folder if it is too long for a socket.
    [[nodiscard]] std::filesystem::path short_path(FileDescriptor& folder) const {
        if (path_.native().size() <= longest_unix_path) return path_;
        auto const parent = path_.has_parent_path() ? path_.parent_path() : ".";
        folder = FileDescriptor(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (folder.get() < 0) fail_listening("open", parent);
        return fmt::format("/proc/self/fd/{}/{}", folder.get(), path_.filename().native());
    }

    std::filesystem::path path_;
};

// Linux gives the file the mode of the socket's own inode, less the umask (unix_bind). Only then
// may it be found: until somebody listens nobody can connect, and nobody is refused.
SocketFile::SocketFile(int socket, std::filesystem::path const& path, int lock, mode_t mode)
    : SocketFile(path) {
    FirstName const first(path, lock);
    if (::fchmod(socket, mode) != 0) fail_listening("fchmod", path);
    first.bind(socket);
    give_mode(first.path(), mode);
    if (::listen(socket, UnixListener::longest_queue) != 0) fail_listening("listen", path);
    if (::link(first.path().c_str(), path.c_str()) == 0) return;
    if (errno == EEXIST) throw_taken(path, "another file has been put there");
    fail_listening("link", path);
}

SocketFile::SocketFile(std::filesystem::path const& path) : path_(absolute_path(path)) {}

// Notes which file it is, and restores what the umask has taken from its mode. It goes by a
// descriptor: it follows no link that is put in its place.
void SocketFile::give_mode(std::filesystem::path const& path, mode_t mode) {
    FileDescriptor const opened(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct ::stat file {};
    if (opened.get() < 0 || ::fstat(opened.get(), &file) != 0) fail_listening("open", path);
    if (!S_ISSOCK(file.st_mode)) throw_taken(path, "another file has been put there");
    device_ = file.st_dev;
    inode_ = file.st_ino;
    if ((file.st_mode & 0777) == mode) return;
    // fchmod() refuses such descriptors.
    std::string const by_descriptor = fmt::format("/proc/self/fd/{}", opened.get());
    if (::chmod(by_descriptor.c_str(), mode) != 0) fail_listening("chmod", path);
}

SocketFile::~SocketFile() {
    if (!process_.inherited() && is_there()) ::unlink(path_.c_str());
}

bool SocketFile::is_there() const {
    struct ::stat file {};
    return ::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

UnixListener::UnixListener(std::filesystem::path const& path, mode_t mode)
    : lock_path_(absolute_path(lock_path(path))),
      lock_(lock_for(path)),
      socket_(socket_for(path, mode)),
      file_(socket_.get(), path, lock_.get(), mode) {}

std::string_view UnixListener::missing() const {
    if (!file_.is_there()) return "socket";
    struct ::stat held {};
    struct ::stat there {};
    bool const same = ::fstat(lock_.get(), &held) == 0 &&
                      ::lstat(lock_path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
                      held.st_ino == there.st_ino;
    return same ? "" : "lock";
}

std::optional<UnixSocket> UnixListener::accept() const {
    process_.require_own();
    auto const next = [&] {
        return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    };
    OwnDescriptor fd([&] { return retried(next); });
    if (fd.get() >= 0) return UnixSocket(std::move(fd));
    if (errno == EAGAIN || errno == ECONNABORTED) return std::nullopt;
    throw SystemError("accept4", errno);
}

}  // namespace carillon::detail
