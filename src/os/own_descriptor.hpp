// SPDX-License-Identifier: Apache-2.0
// Descriptors that children of this process do not keep: the socket that an owner listens at, its
// lock, connections.
#pragma once

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// fork() closes the descriptor in the child: a child that lives on would keep the path of its
// parent in use, and its connections open, when the parent has ended. A child that is made by
// another call than fork(), and runs no other program, keeps it.
class OwnDescriptor {
   public:
    explicit OwnDescriptor(FileDescriptor fd);
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
