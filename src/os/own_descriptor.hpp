// SPDX-License-Identifier: Apache-2.0
// Descriptors that children of this process do not keep: the socket that an owner listens at, its
// lock, connections.
#pragma once

#include <functional>
#include <mutex>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/file_descriptor.hpp"

namespace carillon::detail {

// While it lives no thread of this process forks, but waits: for what is made, and then kept from
// children. Whoever has it makes no OwnDescriptor, and does not wait.
class ForksLater {
   public:
    ForksLater();

   private:
    std::unique_lock<std::mutex> lock_;
};

// fork() closes the descriptor in the child: a child that lives on would keep the path of its
// parent in use, and its connections open, when the parent has ended. A child that is made by
// another call than fork(), and runs no other program, keeps it.
class OwnDescriptor {
   public:
    OwnDescriptor(FileDescriptor fd);  // NOLINT(google-explicit-constructor): of somebody else's
    // What `make` returns, which is a system call: so no child has it, not even for a moment. None
    // where that is -1, and errno says why.
    explicit OwnDescriptor(std::function<int()> const& make);
    OwnDescriptor(OwnDescriptor&&) noexcept = default;
    OwnDescriptor& operator=(OwnDescriptor&&) noexcept = default;
    OwnDescriptor(OwnDescriptor const&) = delete;
    OwnDescriptor& operator=(OwnDescriptor const&) = delete;
    ~OwnDescriptor();

    [[nodiscard]] int get() const { return fd_.get(); }

   private:
    ProcessMark mark_;
    FileDescriptor fd_;
};

}  // namespace carillon::detail
