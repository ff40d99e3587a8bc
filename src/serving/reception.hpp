// SPDX-License-Identifier: Apache-2.0
// The part of a server's thread that knows nothing of what is served: who connects, whether they
// may, what they send, and that they have gone.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/server.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

// Throws UsageError for options that make no sense.
[[nodiscard]] ServeOptions checked_serve(ServeOptions options);

// A process that has connected.
struct Connected {
    UnixSocket socket;
    PeerCredentials peer{};
    FileDescriptor process{};  // readable when it has ended; may be empty
    std::chrono::steady_clock::time_point came = std::chrono::steady_clock::now();
    std::string name{};  // once it has introduced itself
    bool over = false;   // to be dropped
    // Messages that wait for room in its socket. Until they are sent the server reads no more of
    // it.
    std::deque<std::vector<std::byte>> unsent{};
    std::uint32_t magic = messages_magic;  // the magic of its messages' version, if that is another
    // Descriptors that were sent to it since it last had read everything.
    unsigned unread_descriptors = 0;
    // The last poll() has said this of it.
    bool heard = false;  // it has sent something, or closed
    bool ended = false;  // its process has ended
};

// One thread uses it, but for its path and instance. None of its calls waits, but for the program.
class Reception {
   public:
    // Nobody is let in before open().
    explicit Reception(ServeOptions const& options);
    // Listens at the path. Throws as UnixListener does.
    void open(std::filesystem::path const& path);
    // Undoes open(). The path is free; a connected process finds the owner gone.
    void undo_open() noexcept {
        listener_.reset();
        path_.clear();
    }

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }  // empty: not open
    [[nodiscard]] std::uint64_t instance() const { return instance_; }         // another for each
    [[nodiscard]] std::string const& name() const { return *options_.name; }

    // Entries for poll(): new connections, a client's messages, and the end of its process.
    [[nodiscard]] ::pollfd listening() const {
        // Without free descriptors a new connection waits for the next turn.
        return {not_accepting_ || !listener_ ? -1 : listener_->fd(), POLLIN, 0};
    }
    static void watch(std::vector<::pollfd>& all, Connected const& client) {
        short const events = client.unsent.empty() ? POLLIN : POLLOUT;
        all.push_back({client.socket.fd(), events, 0});
        all.push_back({client.process.get(), POLLIN, 0});  // -1 is passed over
    }
    // Notes what poll() has said of a client; `watched` begins with the entries that watch() added
    // for it, which it then loses.
    void handle_events(Connected& client, std::span<::pollfd const>& watched) const {
        if ((watched[0].revents & (POLLHUP | POLLERR)) != 0) client.unsent.clear();
        if ((watched[0].revents & POLLOUT) != 0) flush(client);
        client.heard = (watched[0].revents & ~POLLOUT) != 0;
        client.ended = watched[1].revents != 0;
        watched = watched.subspan(2);
    }

    // Hands on new connections, some at a time. `listened`: listening() after poll().
    void accept_all(::pollfd const& listened, std::function<void(UnixSocket)> const& accept);
    // Why the client may not stay; nothing if it may, and then it counts until forget().
    [[nodiscard]] std::optional<Refused> admit(Connected& client);
    void forget(Connected const& client) noexcept { std::erase(clients_, &client); }

    // Hands on the client's messages, some at a time, if poll() heard any. A message that is none,
    // or for which `handle` throws, is refused and ends the visit.
    void receive_from(Connected& client, std::function<void(Decoded const&)> const& handle);
    // Sends it at once, or when there is room in its socket.
    void send(Connected& client, std::uint32_t id, Message const& message);
    // Sends Refused, and writes a line for people.
    void refuse(Connected& client, std::uint32_t id, Refused refusal);
    // Why the client cannot be sent so many descriptors now; nothing if it can. Unread ones count
    // as open ones of this process's user, so there is a bound to those of a connection, of a user,
    // and of all, below RLIMIT_NOFILE.
    [[nodiscard]] std::optional<Refused> require_read(Connected& client,
                                                      unsigned descriptors) const;
    // Sends it at once, after require_read() found nothing. Throws Refused if the system has no
    // room.
    void lend(Connected& client, std::uint32_t id, Message const& message,
              std::span<int const> descriptors);

    // Whether it is over, its process has ended, or it has not introduced itself for too long.
    [[nodiscard]] bool has_gone(Connected const& client);

    // Keeps a line about a client, for say_lines(): so many of one user in a while, and then how
    // many were left out.
    void log(Connected const& client, std::string_view what) noexcept;
    // Keeps a line that is about no client.
    void log(std::string_view what) {
        lines_.push_back(fmt::format("carillon: {}: {}", path_.string(), what));
    }
    // Says the lines. Call it without the server's lock: it calls the program, which may call the
    // server. `all`: it also says how many were left out in a while that is not over. Each second
    // it looks whether the path's files are there.
    void say_lines(bool all = false) noexcept;
    // Lets nobody in any more; the path is free.
    void close() { listener_.reset(); }

   private:
    // The lines of one user.
    struct Told {
        std::chrono::steady_clock::time_point since;
        unsigned lines = 0;
        std::uint64_t left_out = 0;
    };

    // Whether its user, or a group of it, is among those of the options.
    [[nodiscard]] bool is_allowed(Connected const& client) const;
    [[nodiscard]] std::optional<Refused> require_place(uid_t user) const;
    // Drops a client that has said nothing for a while, and whose place this user may have: one of
    // the same user, or, for the owner's user and root, any. False: there is none.
    [[nodiscard]] bool drop_stranger(uid_t user);
    void flush(Connected& client) const {
        try {
            while (!client.unsent.empty() && try_send(client, client.unsent.front())) {
                client.unsent.pop_front();
            }
        } catch (Error const&) {  // the socket takes nothing any more
            client.over = true;
        }
    }
    // False: there is no room.
    [[nodiscard]] bool try_send(Connected& client, std::vector<std::byte> const& bytes) const {
        try {
            if (!client.socket.send(bytes)) client.over = true;
            return true;
        } catch (SystemError const& error) {
            if (!is_out_of_room(error.code())) throw;
            return false;
        }
    }
    void say(std::string const& line) const noexcept;
    void look_at_files() noexcept;

    std::filesystem::path path_;
    ServeOptions options_;
    std::uint64_t instance_;
    std::optional<UnixListener> listener_;
    bool not_accepting_ = false;  // the listener is not looked at
    std::chrono::steady_clock::time_point looked_at_files_{};
    std::string_view missing_;  // the files that a line has said to be missing
    std::vector<Connected*> clients_;
    std::vector<std::string> lines_;
    std::map<std::uint32_t, Told> told_;  // by user
};

}  // namespace carillon::detail
