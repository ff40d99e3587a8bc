// SPDX-License-Identifier: Apache-2.0
#include "carillon/file_descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "carillon/error.hpp"
#include "os/own_descriptor.hpp"

namespace carillon {
namespace {

constexpr int first_own = STDERR_FILENO + 1;

int above_standard(int fd) noexcept {
    if (fd < 0 || fd >= first_own) return fd;
    int const moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first_own);
    int const error = errno;
    ::close(fd);
    errno = error;
    return moved;
}

}  // namespace

FileDescriptor::FileDescriptor(int fd) : fd_(above_standard(fd)) {}

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
}

void FileDescriptor::close_on_exec() const {
    if (::fcntl(fd_, F_SETFD, FD_CLOEXEC) != 0) throw SystemError("fcntl(F_SETFD)", errno);
}

FileDescriptor FileDescriptor::duplicate() const {
    int const copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, first_own);
    if (copy < 0) throw SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
    return FileDescriptor(copy);
}

}  // namespace carillon

namespace carillon::detail {
namespace {

// The descriptors of this process. A fork holds the mutex, so that the child finds the list whole.
struct Descriptors {
    std::mutex mutex;
    std::vector<int> all;

    // Never destroyed: static objects may go later.
    static Descriptors& get() {
        static auto* const one = new Descriptors;
        static bool const registered =
            ::pthread_atfork([] { one->mutex.lock(); }, [] { one->mutex.unlock(); },
                             [] {
                                 for (int const fd : std::exchange(one->all, {})) ::close(fd);
                                 one->mutex.unlock();
                             }) == 0;
        (void)registered;
        return *one;
    }
};

}  // namespace

ForksLater::ForksLater() : lock_(Descriptors::get().mutex) {}

OwnDescriptor::OwnDescriptor(FileDescriptor fd) : OwnDescriptor([&] { return fd.release(); }) {}

OwnDescriptor::OwnDescriptor(std::function<int()> const& make) {
    ForksLater const alone;
    fd_ = FileDescriptor(make());
    if (fd_.get() >= 0) Descriptors::get().all.push_back(fd_.get());
}

// A child has closed its parent's descriptors, and may have another file of the same number.
OwnDescriptor::~OwnDescriptor() {
    int const fd = fd_.release();
    if (fd < 0 || mark_.inherited()) return;
    Descriptors& own = Descriptors::get();
    std::lock_guard const lock(own.mutex);
    std::erase(own.all, fd);
    ::close(fd);
}

}  // namespace carillon::detail
