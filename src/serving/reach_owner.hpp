// SPDX-License-Identifier: Apache-2.0
// How a client reaches an owner, be that of kernels or of a store of buffers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "os/unix_socket.hpp"

namespace carillon::detail {

struct ReachedOwner {
    UnixSocket socket;
    FileDescriptor end;  // readable when its process has ended
    std::uint32_t user;
};

// Connects, and looks whose socket that is. `user`: see ConnectOptions::owner_user. Nothing is
// sent. Throws as connect_unix, RefusedError for another user's, OwnerGoneError if the process has
// ended and a child of it has the socket still.
[[nodiscard]] ReachedOwner reach_owner(std::filesystem::path const& path,
                                       std::chrono::nanoseconds timeout,
                                       std::optional<std::uint32_t> user);

// In a handler of an exception: how long to wait before the next try. 0: no try would help. The
// first is for a connection, the second for what is asked of an owner that is there.
[[nodiscard]] std::chrono::milliseconds pause_of_connection();
[[nodiscard]] std::chrono::milliseconds pause_of_attach();

// Returns what `attempt` returns, and tries again for so long as ConnectOptions::wait_for_owner
// says. Throws what the last attempt throws, and what `pause_of` throws.
template <class Pause, class Attempt>
[[nodiscard]] auto keep_trying(std::chrono::nanoseconds wait, Pause const& pause_of,
                               Attempt const& attempt) {
    Deadline const deadline(wait);
    for (;;) {
        try {
            return attempt();
        } catch (Error const&) {
            std::chrono::nanoseconds const pause = pause_of();
            if (deadline.passed() || pause.count() == 0) throw;
            std::this_thread::sleep_for(std::min(deadline.left(), pause));
        }
    }
}

}  // namespace carillon::detail
