// SPDX-License-Identifier: Apache-2.0
// How a client reaches an owner, and when it tries again.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "carillon/error.hpp"
#include "os/own_user.hpp"
#include "serving/link.hpp"

namespace carillon::detail {
namespace {

// The pause before a retry; an owner logs each refused client. `never`: no try would help.
constexpr std::chrono::milliseconds soon{5};
constexpr std::chrono::milliseconds after_a_refusal{50};
constexpr std::chrono::milliseconds never{0};

}  // namespace

FileDescriptor end_of_owner(std::filesystem::path const& path, UnixSocket const& socket,
                            std::optional<std::uint32_t> user) {
    PeerCredentials const owner = socket.peer();
    bool const nameless = is_nameless_user(owner.uid);
    bool const right = user ? owner.uid == *user && !nameless : is_kept_for(owner.uid);
    if (!right) {
        throw RefusedError(
            RefusalReason::wrong_owner,
            fmt::format(
                "who listens at {} is {}, process {}, and not {} (owner_user)", path.string(),
                nameless
                    ? fmt::format("a user that this user namespace has no name for ({})", owner.uid)
                    : fmt::format("the user {}", owner.uid),
                owner.pid,
                user ? fmt::format("the user {}", *user)
                     : fmt::format("this process's user {} or root", ::geteuid())));
    }
    // If the owner has ended, another process that has the socket keeps it open, and accepts
    // nobody.
    auto process = socket.peer_process();
    if (!process.ended) return std::move(process.end);
    throw OwnerGoneError(
        socket.is_closed()
            ? "the process that listened there has ended"
            : "the process that listened there has ended, and another has its socket still");
}

std::chrono::milliseconds pause_of_attach(Error const& error) {
    if (dynamic_cast<TimeoutError const*>(&error) != nullptr) return soon;
    auto const* refused = dynamic_cast<RefusedError const*>(&error);
    bool const passes = refused != nullptr && (refused->reason() == RefusalReason::unknown_object ||
                                               refused->reason() == RefusalReason::full ||
                                               refused->reason() == RefusalReason::stopping);
    return passes ? after_a_refusal : never;
}

std::chrono::milliseconds pause_of_connection(Error const& error) {
    auto const* system = dynamic_cast<SystemError const*>(&error);
    bool const nobody_listens =
        system != nullptr && (system->code() == ENOENT || system->code() == ECONNREFUSED);
    bool const gone = dynamic_cast<OwnerGoneError const*>(&error) != nullptr;
    if (nobody_listens || gone) return soon;
    auto const* refused = dynamic_cast<RefusedError const*>(&error);
    bool const for_good = refused != nullptr && refused->reason() != RefusalReason::full;
    return for_good ? never : pause_of_attach(error);
}

}  // namespace carillon::detail
