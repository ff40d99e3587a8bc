// SPDX-License-Identifier: Apache-2.0
// How a client reaches an owner, and when it tries again.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "carillon/detail/host/process_mark.hpp"
#include "os/own_user.hpp"
#include "serving/buffer_access.hpp"
#include "serving/link.hpp"

namespace carillon::detail {
namespace {

// The pause before a retry; an owner logs each refused client. `never`: no try would help.
constexpr std::chrono::milliseconds soon{5};
constexpr std::chrono::milliseconds after_a_refusal{50};
constexpr std::chrono::milliseconds never{0};

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

// Looks whose socket that is, before anything is sent. `user`: see ConnectOptions::owner_user.
// Returns a descriptor that is readable when the owner's process has ended. Throws RefusedError for
// another user's, OwnerGoneError if the process has ended and a child of it has the socket still.
FileDescriptor end_of_owner(std::filesystem::path const& path, UnixSocket const& socket,
                            std::optional<std::uint32_t> user) {
    PeerCredentials const owner = socket.peer();
    bool const nameless = is_nameless_user(owner.uid);
    bool const right = user ? owner.uid == *user && !nameless : is_kept_for(owner.uid);
    if (!right) {
        throw RefusedError(
            RefusalReason::wrong_owner,
            fmt::format("the process at {} belongs to {} (process {}), not to {} "
                        "(owner_user)",
                        path.string(),
                        nameless ? fmt::format("a user outside this user namespace ({})", owner.uid)
                                 : fmt::format("the user {}", owner.uid),
                        owner.pid,
                        user ? fmt::format("the user {}", *user)
                             : fmt::format("this process's user {} or root", ::geteuid())));
    }
    // If the owner has ended, another process that has the socket keeps it open, and accepts
    // nobody.
    auto process = socket.peer_process();
    if (!process.ended) return std::move(process.end);
    throw OwnerGoneError(socket.is_closed() ? "the process that listened there has ended"
                                            : "the process that listened there has ended, but "
                                              "another process still holds its socket");
}

}  // namespace

std::chrono::milliseconds pause_of_attach(Error const& error) {
    if (dynamic_cast<TimeoutError const*>(&error) != nullptr) return soon;
    auto const* refused = dynamic_cast<RefusedError const*>(&error);
    bool const passes = refused != nullptr && (refused->reason() == RefusalReason::unknown_object ||
                                               refused->reason() == RefusalReason::full ||
                                               refused->reason() == RefusalReason::stopping);
    return passes ? after_a_refusal : never;
}

Link::Link(std::filesystem::path const& path, ConnectOptions const& options)
    : path_(absolute_path(path)),
      options_(options),
      socket_(connect_unix(path, options.timeout)),
      owners_end_(end_of_owner(path, socket_, options.owner_user)) {}

std::shared_ptr<Link> Link::reach(std::filesystem::path const& path,
                                  ConnectOptions const& options) {
    Deadline const deadline(options.timeout);
    std::shared_ptr<Link> link(new Link(path, options), DeleteOwn());
    OwnerAnswer answer = link->ask(Hello{options.name}, deadline);
    link->owner_ = said<Welcome>(answer).owner;
    link->owner_.user = link->socket_.peer().uid;
    return link;
}

std::shared_ptr<Link> Link::connect(std::filesystem::path const& path, ConnectOptions options) {
    if (options.name.empty()) options.name = name_of_program();
    require_name("client", options.name);
    if (options.timeout.count() <= 0) {
        throw UsageError(
            fmt::format("the timeout must be above 0, not {}", duration_text(options.timeout)));
    }
    if (options.wait_for_owner.count() < 0) {
        throw UsageError(fmt::format("wait_for_owner must be 0 or more, not {}",
                                     duration_text(options.wait_for_owner)));
    }
    if (options.owner_user) require_possible_number("owner_user", *options.owner_user);
    options.spin = spin_time(options.spin);
    return keep_trying(options.wait_for_owner, pause_of_connection,
                       [&] { return reach(path, options); });
}

std::shared_ptr<Link> Link::again() const {
    require_owner();
    auto const pause_if_there = [&](Error const& error) {
        require_owner();
        return pause_of_connection(error);
    };
    auto link = keep_trying(options_.wait_for_owner, pause_if_there,
                            [&] { return reach(path_, options_); });
    if (link->owner_.instance == owner_.instance) return link;
    throw OwnerGoneError(fmt::format("another owner now listens at {}", path_.string()));
}

void Link::require_owner() const {
    if (socket_.is_closed()) throw OwnerGoneError("the owner has closed the connection");
    ::pollfd ended{owners_end_.get(), POLLIN, 0};
    if (::poll(&ended, 1, 0) == 1) throw OwnerGoneError("the owner has ended");
}

}  // namespace carillon::detail
