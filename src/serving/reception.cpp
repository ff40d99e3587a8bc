// SPDX-License-Identifier: Apache-2.0
#include "serving/reception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include "carillon/detail/host/say_line.hpp"
#include "os/own_user.hpp"
#include "serving/buffer_access.hpp"

namespace carillon::detail {
namespace {

// A stranger has so long to introduce itself, and so long if its place is wanted.
constexpr std::chrono::seconds longest_silence{5};
constexpr std::chrono::milliseconds shortest_silence{250};
// One client's messages in a turn, and new connections; the others wait for the next.
constexpr unsigned messages_in_a_turn = 16;
constexpr unsigned connections_in_a_turn = 16;
// One user's lines: without a limit it could fill a disk.
constexpr unsigned lines_in_a_while = 32;
constexpr std::chrono::seconds a_while{1};
constexpr std::chrono::seconds files_period{1};
// A connection that reads is lent so many descriptors ahead.
constexpr unsigned most_unread_of_connection = 16;
constexpr std::chrono::milliseconds longest_spin{100};

std::uint64_t new_instance() {
    std::random_device random;
    std::uint64_t const high = random();
    return high << 32U | random();
}

void require_possible(std::string_view field, std::vector<std::uint32_t> const& numbers) {
    for (std::uint32_t const each : numbers) require_possible_number(field, each);
}

}  // namespace

Refused refusal_of(std::exception const& error) {
    auto const* system = dynamic_cast<SystemError const*>(&error);
    bool const no_room = dynamic_cast<OutOfMemoryError const*>(&error) != nullptr ||
                         (system != nullptr && is_out_of_room(system->code()));
    return {no_room ? RefusalReason::full : RefusalReason::other, error.what()};
}

ServeOptions checked_serve(ServeOptions options) {
    require_name("owner", *options.name);
    if ((options.mode & ~0777U) != 0) {
        throw UsageError(fmt::format("mode {:o} is not a socket mode (0 to 777)", options.mode));
    }
    if ((options.mode & 0222U) == 0) {
        throw UsageError(fmt::format(
            "mode {:o} lets no process connect: that needs write permission", options.mode));
    }
    auto const need = [](char const* field, std::size_t value, char const* what) {
        if (value != 0) return;
        throw UsageError(fmt::format("ServeOptions::{} is 0: no client could {}", field, what));
    };
    need("connections", options.connections, "connect");
    need("channels_per_connection", options.channels_per_connection, "attach");
    need("bytes_per_connection", options.bytes_per_connection, "attach");
    need("descriptors_per_connection", options.descriptors_per_connection, "attach");
    need("buffers_per_connection", options.buffers_per_connection, "get a buffer");
    require_possible("an entry of users", options.users);
    require_possible("an entry of groups", options.groups);
    options.spin = std::min<std::chrono::nanoseconds>(spin_time(options.spin), longest_spin);
    return options;
}

Reception::Reception(ServeOptions const& options) : options_(options), instance_(new_instance()) {}

void Reception::open(std::filesystem::path const& path) {
    listener_.emplace(path, options_.mode);
    path_ = path;
    // Each connection takes two descriptors, and this process needs others, too.
    std::size_t const fit = std::max<std::size_t>(limit_of_descriptors() / 4, 1);
    if (options_.connections <= fit) return;
    log(fmt::format(
        "the server has at most {} connections instead of {} (its option connections): each takes "
        "two descriptors, and together they take at most half of RLIMIT_NOFILE (ulimit -n)",
        fit, options_.connections));
    options_.connections = static_cast<unsigned>(fit);
}

void Reception::accept_all(::pollfd const& listened,
                           std::function<void(UnixSocket)> const& accept) {
    if (listened.fd >= 0 && listened.revents == 0) return;
    not_accepting_ = false;
    try {
        for (unsigned i = 0; i < connections_in_a_turn && listener_; ++i) {
            auto socket = listener_->accept();
            if (!socket) return;
            accept(std::move(*socket));
        }
    } catch (std::exception const&) {  // no descriptor is left, or no memory
        not_accepting_ = true;
    }
}

std::optional<Refused> Reception::admit(Connected& client) {
    try {
        client.peer = client.socket.peer();
        if (!is_allowed(client)) {
            return Refused{
                RefusalReason::not_allowed,
                fmt::format("the owner's options users and groups do not allow the user {}",
                            client.peer.uid)};
        }
        auto refusal = require_place(client.peer.uid);
        if (refusal && drop_stranger(client.peer.uid)) refusal = require_place(client.peer.uid);
        if (refusal) return refusal;
        auto process = client.socket.peer_process();
        if (process.ended && !client.socket.is_closed()) {
            return Refused{
                RefusalReason::other,
                "the process that connected has ended, and another process holds its socket"};
        }
        client.over = process.ended;  // it has gone before it was heard
        client.process = std::move(process.end);
        int const highest = std::max(client.socket.fd(), client.process.get());
        uid_t const user = client.peer.uid;
        if (!is_kept_for(user) && static_cast<std::size_t>(highest) >= descriptors_for(user)) {
            return Refused{RefusalReason::full, why_no_descriptor(user, "the owner's user")};
        }
        clients_.push_back(&client);
    } catch (std::exception const& error) {  // or no memory
        return refusal_of(error);
    }
    return {};
}

std::optional<Refused> Reception::require_place(uid_t user) const {
    auto const refusal = [&](std::string_view what, std::size_t there, std::string_view rule) {
        return Refused{RefusalReason::full,
                       fmt::format("{} {} connections (the owner's option {})", what, there, rule)};
    };
    std::size_t const there = clients_.size();
    if (there >= options_.connections) return refusal("there are already", there, "connections");
    if (is_kept_for(user)) return {};
    auto const share = share_of(options_.connections, options_.connections_per_user);
    auto const of_user = static_cast<std::size_t>(std::ranges::count_if(
        clients_, [&](Connected const* each) { return each->peer.uid == user; }));
    if (of_user >= share.of_user) {
        return refusal(fmt::format("the user {} already has", user), of_user,
                       "connections_per_user");
    }
    auto const of_others = static_cast<std::size_t>(std::ranges::count_if(
        clients_, [](Connected const* each) { return !is_kept_for(each->peer.uid); }));
    if (of_others < share.of_others) return {};
    return refusal("the rest is reserved for the owner's user: other users already have", of_others,
                   "connections");
}

bool Reception::drop_stranger(uid_t user) {
    auto const latest = std::chrono::steady_clock::now() - shortest_silence;
    auto const has_to_go = [&](Connected const* each) {
        return each->name.empty() && each->came < latest &&
               (is_kept_for(user) || each->peer.uid == user);
    };
    auto const found = std::ranges::find_if(clients_, has_to_go);  // in the order of their coming
    if (found == clients_.end()) return false;
    Connected& stranger = **found;
    log(stranger, "dropped: another client needs its place, and it has not introduced itself");
    stranger.over = true;
    clients_.erase(found);
    return true;
}

bool Reception::is_allowed(Connected const& client) const {
    if (options_.users.empty() && options_.groups.empty()) return true;
    PeerCredentials const& peer = client.peer;
    if (is_own_user(peer.uid)) return true;
    if (std::ranges::count(options_.users, peer.uid) != 0 && !is_nameless_user(peer.uid))
        return true;
    std::vector<gid_t> groups = client.socket.peer_groups();
    groups.push_back(peer.gid);
    return std::ranges::any_of(groups, [&](gid_t group) {
        return std::ranges::count(options_.groups, group) != 0 && !is_nameless_group(group);
    });
}

void Reception::receive_from(Connected& client, std::function<void(Decoded const&)> const& handle) {
    auto const end = [&](RefusalReason reason, std::string text) {
        refuse(client, 0, {reason, std::move(text)});
        client.over = true;
    };
    if (!client.heard) return;
    for (unsigned i = 0; i < messages_in_a_turn && !client.over && client.unsent.empty(); ++i) {
        try {
            Received const received = client.socket.receive(0);
            if (std::holds_alternative<NothingThere>(received)) return;
            if (std::holds_alternative<PeerClosed>(received)) {
                client.over = true;
                return;
            }
            auto const& message = std::get<SocketMessage>(received);
            handle(decode(message.bytes, message.descriptors.size()));
        } catch (VersionError const& error) {
            client.magic = error.magic();
            end(RefusalReason::version, std::string(error.cause()));
        } catch (Error const& error) {
            end(RefusalReason::bad_message, error.what());
        } catch (std::exception const& error) {  // no memory
            end(RefusalReason::other, error.what());
        }
    }
}

void Reception::send(Connected& client, std::uint32_t id, Message const& message) {
    try {
        auto bytes = encode(id, message, client.magic);
        if (client.unsent.empty() && try_send(client, bytes)) return;
        client.unsent.push_back(std::move(bytes));
    } catch (std::exception const& error) {  // or no memory
        log(client, fmt::format("dropped: a message could not be sent to it: {}", error.what()));
        client.over = true;
    }
}

void Reception::refuse(Connected& client, std::uint32_t id, Refused refusal) {
    try {
        log(client, fmt::format("refused ({}): {}", to_string(refusal.reason), refusal.text));
    } catch (std::exception const&) {  // the line is lost
    }
    send(client, id, std::move(refusal));
}

std::optional<Refused> Reception::require_read(Connected& client, unsigned descriptors) const {
    if (!client.socket.has_unread()) client.unread_descriptors = 0;
    std::size_t const wanted = client.unread_descriptors + std::size_t{descriptors};
    bool const first = client.unread_descriptors == 0 && client.unsent.empty();
    if (!first && (wanted > most_unread_of_connection || !client.unsent.empty())) {
        return Refused{
            RefusalReason::too_many_of_client,
            fmt::format("the connection has not read its messages, which hold {} descriptors",
                        client.unread_descriptors)};
    }
    // A client that has read all finds room although others have not.
    std::size_t const limit = limit_of_descriptors();
    std::size_t const most = limit / (is_kept_for(client.peer.uid) ? 2 : first ? 4 : 8);
    std::size_t of_all = 0;
    std::size_t of_user = 0;
    for (Connected* const each : clients_) {
        if (each->unread_descriptors == 0) continue;
        if (!each->socket.has_unread()) each->unread_descriptors = 0;
        of_all += each->unread_descriptors;
        if (each->peer.uid == client.peer.uid) of_user += each->unread_descriptors;
    }
    bool const too_many = !is_kept_for(client.peer.uid) && of_user + descriptors > limit / 8;
    if (of_all + descriptors <= most && !too_many) return {};
    return Refused{RefusalReason::full,
                   fmt::format("unread messages hold {} descriptors, {} of them for the user {}, "
                               "and this process may have {} (RLIMIT_NOFILE)",
                               of_all, of_user, client.peer.uid, limit)};
}

void Reception::lend(Connected& client, std::uint32_t id, Message const& message,
                     std::span<int const> descriptors) {
    try {
        if (!client.socket.send(encode(id, message), descriptors)) client.over = true;
        client.unread_descriptors += static_cast<unsigned>(descriptors.size());
    } catch (SystemError const& error) {
        if (!is_out_of_room(error.code())) client.over = true;
        throw Refused{RefusalReason::full, error.what()};
    }
}

bool Reception::has_gone(Connected const& client) {
    bool const stranger =
        client.name.empty() && std::chrono::steady_clock::now() - client.came > longest_silence;
    if (stranger) log(client, "dropped: it has not introduced itself");
    return client.over || client.ended || stranger;
}

void Reception::log(Connected const& client, std::string_view what) noexcept {
    try {
        auto const now = std::chrono::steady_clock::now();
        Told& told = told_.try_emplace(client.peer.uid, Told{now}).first->second;
        if (told.lines == lines_in_a_while) {
            ++told.left_out;
            return;
        }
        lines_.push_back(fmt::format("carillon: {}: {}, process {} of user {}: {}", path_.string(),
                                     client.name.empty() ? "somebody" : client.name,
                                     client.peer.pid, client.peer.uid, what));
        ++told.lines;
    } catch (...) {  // the line is lost
    }
}

// Programs that clear /tmp remove such files.
void Reception::look_at_files() noexcept {
    auto const now = std::chrono::steady_clock::now();
    if (!listener_ || now - looked_at_files_ < files_period) return;
    looked_at_files_ = now;
    try {
        std::string_view const missing = listener_->missing();
        if (missing != missing_ && !missing.empty()) {
            say(fmt::format("carillon: {}: its {} was removed: {}", path_.string(), missing,
                            missing == "socket" ? "clients no longer find this owner, and another "
                                                  "owner may begin to serve there"
                                                : "another owner may begin to serve there"));
        }
        missing_ = missing;
    } catch (...) {  // the line is lost
    }
}

void Reception::say_lines(bool all) noexcept {
    look_at_files();
    for (std::string const& line : std::exchange(lines_, {})) say(line);
    if (told_.empty()) return;
    auto const now = std::chrono::steady_clock::now();
    for (auto each = told_.begin(); each != told_.end();) {
        auto const& [user, told] = *each;
        if (!all && now - told.since < a_while) {
            ++each;
            continue;
        }
        if (told.left_out != 0) {
            try {
                say(fmt::format("carillon: {}: {} more lines about user {} are left out",
                                path_.string(), told.left_out, user));
            } catch (...) {
            }
        }
        each = told_.erase(each);
    }
}

void Reception::say(std::string const& line) const noexcept {
    try {
        if (options_.log) {
            options_.log(line);
        } else {
            say_line(line);
        }
    } catch (...) {  // the line is lost
    }
}

}  // namespace carillon::detail
