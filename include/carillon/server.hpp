// SPDX-License-Identifier: Apache-2.0
// Lets clients of other processes in to a kernel of this one (docs/ipc.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace carillon {
namespace detail {
class Leases;
struct ServerMaker;
class ServerThread;
}  // namespace detail

struct ServeOptions {
    // What clients ask for (Connection::channel): 1 to 63 characters.
    std::string name = "kernel";
    // Who may connect: the permissions of the socket, of which writing counts.
    unsigned mode = 0600;
    // Who of those may attach: the owner's own user, these users, and who is in one of these
    // groups. Where both are empty, everybody who can connect.
    std::vector<std::uint32_t> users{};
    std::vector<std::uint32_t> groups{};
    unsigned connections = 256;            // at the same time, at most
    unsigned channels_per_connection = 8;  // the same
    // Called from the server's thread with a line for people: whom it refused or dropped, and why.
    // What it throws is dropped. None: the line goes to stderr.
    std::function<void(std::string const& line)> log{};
};

// A connection, as the owner of the kernel sees it.
struct ConnectedClient {
    std::string name;          // as it calls itself
    std::int32_t process = 0;  // its number when it connected; 0 in another namespace
    std::uint32_t user = 0;
    std::vector<unsigned> blocks;  // that serve it
};

// PersistentKernel::serve() makes one. Clients come and go while it is there; its destructor closes
// the connections, and clients find that their owner has gone.
class Server {
   public:
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server();

    [[nodiscard]] std::filesystem::path const& path() const;
    // Those that have introduced themselves, in the order in which they came.
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    friend struct detail::ServerMaker;
    // Throws UsageError for a path that no socket can have, at which there is something else, or at
    // which somebody listens; for options that make no sense; SystemError.
    Server(std::filesystem::path const& path, std::shared_ptr<detail::Leases> leases,
           ServeOptions const& options);

    [[nodiscard]] detail::ServerThread& thread(char const* call) const;

    std::shared_ptr<detail::ServerThread> thread_;
};

namespace detail {

// What PersistentKernel::serve() does.
struct ServerMaker {
    [[nodiscard]] static Server make(std::filesystem::path const& path,
                                     std::shared_ptr<Leases> leases, ServeOptions const& options) {
        return {path, std::move(leases), options};
    }
};

}  // namespace detail

}  // namespace carillon
