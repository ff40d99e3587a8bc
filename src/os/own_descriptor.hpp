// SPDX-License-Identifier: Apache-2.0
// Descriptors that children of this process do not keep: an owner's listening socket and its lock,
// and connections.
#pragma once

#include <functional>
#include <mutex>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/file_descriptor.hpp"

namespace carillon::detail {

// While it lives other threads of this process wait before they fork: for a resource that is made
// and then withheld from children. Its holder makes no OwnDescriptor, and does not wait.
class ForksLater {
   public:
    ForksLater();

   private:
    std::unique_lock<std::mutex> lock_;
};

// A descriptor that fork() closes in the child: a child that lives on would keep its parent's path
// in use, and its connections open, after the parent has ended. A child that another call than
// fork() makes, and that runs no other program, keeps it.
class OwnDescriptor {
   public:
    OwnDescriptor(FileDescriptor fd);  // NOLINT(google-explicit-constructor): of somebody else's
    // Owns the result of `make`, a system call: so no child has it, not even for a moment. None if
    // that is -1, and errno says why.
    explicit OwnDescriptor(std::function<int()> const& make);
    OwnDescriptor(OwnDescriptor&&) noexcept = default;
    OwnDescriptor& operator=(OwnDescriptor&&) noexcept = default;
    ~OwnDescriptor();

    [[nodiscard]] int get() const { return fd_.get(); }

   private:
    ProcessMark mark_;
    FileDescriptor fd_;
};

}  // namespace carillon::detail
