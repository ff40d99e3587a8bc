// SPDX-License-Identifier: Apache-2.0
// How a client comes to an owner, be that of kernels or of a store of buffers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/memory.hpp"
#include "os/unix_socket.hpp"

namespace carillon::detail {

struct ReachedOwner {
    UnixSocket socket;
    FileDescriptor end;  // readable when its process has ended
    std::uint32_t user;
};

// Connects, and looks whose socket that is: `user` as ConnectOptions::owner_user. Nothing is sent.
// Throws as connect_unix, RefusedError for another user's, OwnerGoneError where the process has
// ended and a child of it has the socket still.
[[nodiscard]] ReachedOwner reach_owner(std::string_view call, std::filesystem::path const& path,
                                       std::chrono::nanoseconds timeout,
                                       std::optional<std::uint32_t> user);

// For how long it is tried again to reach an owner, or what it serves: as
// ConnectOptions::wait_for_owner.
class OwnerWait {
   public:
    explicit OwnerWait(std::chrono::nanoseconds wait) : deadline_(wait) {}

    // In a handler of an exception: sleeps a while before the next try, or throws the exception on,
    // where the time is over or another try would come to the same. The first is for a connection,
    // the second for what is asked of an owner that is there.
    void before_next_connection() const;
    void before_next_attach() const;

   private:
    void sleep_or_rethrow(std::chrono::milliseconds pause) const;

    Deadline deadline_;
};

}  // namespace carillon::detail
