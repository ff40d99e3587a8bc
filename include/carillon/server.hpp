// SPDX-License-Identifier: Apache-2.0
// `Server`: lets other processes use this process's kernels and objects (docs/dev/protocol.md) and
// its store of buffers (docs/guide/store.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"

namespace carillon {
class CARILLON_LAYOUT Store;
namespace detail {
class Endpoint;
class Lendable;
struct ServerMaker;
}  // namespace detail

// How a Server, or a serve() function, accepts clients.
struct ServeOptions {
    // The owner's name: 1 to 63 characters. The default is "store" by Store::serve(), the kernel's
    // name by PersistentKernel::serve(), otherwise "kernel".
    std::optional<std::string> name = std::nullopt;
    // The permissions of the socket: a process that may write to it may connect. A client also sees
    // the names, processes, users and counters of all clients (Connection::status()), gets every
    // sealed buffer, and sees which client made it.
    unsigned mode = 0600;
    // Users, and members of groups, that may become clients besides the owner's own user. If both
    // are empty, every process that can connect may.
    std::vector<std::uint32_t> users{};
    std::vector<std::uint32_t> groups{};
    // Limits at any time: of connections, and for each connection of channels and objects, of bytes
    // of their memory, and of descriptors. The server refuses a request for more, and names the
    // limit (RefusalReason::too_many_of_client).
    unsigned connections = 256;
    unsigned channels_per_connection = 8;
    std::size_t bytes_per_connection = std::size_t{1} << 30U;
    unsigned descriptors_per_connection = 64;
    unsigned buffers_per_connection = 256;  // held buffers of a store
    // Limits of all connections of one user together; the owner's user and root have none. With 0 a
    // user may have half of the connections, and no limit of its own on channels, bytes and
    // descriptors. A quarter of the connections, and of the blocks or places of each object, is
    // reserved for the owner's user and root, unless a limit here is above the other three
    // quarters.
    unsigned connections_per_user = 0;
    unsigned channels_per_user = 0;
    std::size_t bytes_per_user = 0;
    unsigned descriptors_per_user = 0;
    // How long the server's thread polls for the next message about buffers before it sleeps; a
    // thread that must be woken answers later. With two processors or fewer it sleeps at once.
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);
    // The server's thread calls it with a line for people: which client it refused or dropped, and
    // why. It reports a limited number of lines per user and second, and then the number of further
    // ones. The function may call the server, and destroy it. All clients wait until it returns, so
    // it must be quick. Its exceptions are dropped. By default another thread writes the line to
    // stderr.
    std::function<void(std::string const& line)> log{};
};

// A client's connection, seen by the owner.
struct ConnectedClient {
    std::string name;          // the client's own name
    std::int32_t process = 0;  // the process's number when it connected; 0 in another namespace
    std::uint32_t user = 0;
    std::vector<unsigned> blocks;  // the blocks that serve it, of all kernels
    unsigned buffers = 0;          // mutable and immutable buffers that it holds
};

// Serves objects to clients by name. Clients come and go while it is open. Its destructor closes
// the connections; clients then get OwnerGoneError. Any thread may call it.
class Server {
   public:
    // Accepts no clients yet: call add(), then open(). Throws UsageError for invalid options.
    explicit Server(ServeOptions const& options = {});
    // Opens the server at once: a client that asks for an object before its add() waits for it
    // (ConnectOptions::wait_for_owner), or is refused. Also throws what open() throws.
    explicit Server(PathArgument const& path, ServeOptions const& options = {});
    Server(Server&&) noexcept = default;
    Server& operator=(Server&&) noexcept = default;

    // Accepts clients at the path; they find all objects added before. Throws UsageError the second
    // time, for a path that no socket can have, and if a process listens at the path or another
    // file is there; SystemError. After a failed call another one may succeed.
    void open(PathArgument const& path);

    // Serves a kernel with SharedChannels or a SharedPool by `name`, 1 to 63 characters. Server and
    // object may outlive each other. The name of an ended kernel, or of a destroyed object, can be
    // given to another one: its earlier clients then lose it, and a later add(), or the server's
    // end, frees its memory. Throws UsageError for a name that is taken or invalid.
    //
    // It also takes a SharedMailbox, SharedRing or SharedChunkRing, for one client at a time; and
    // for any number of readers a SharedMailbox from the device, or a LogService. If the owner
    // destroys one while the server goes on, its clients' calls throw StoppedError, and new clients
    // are refused (RefusalReason::stopping).
    template <class Object>
    void add(NameArgument name, Object const& object) {
        detail::in_call("Server::add", [&] { object.serve(*this, name); });
    }

    // Serves a store of buffers; a server takes one. Server and store may outlive each other. If
    // the program destroys the store while the server goes on, the server closes the connections
    // that have used it; a server of nothing else then accepts no more clients. Throws UsageError
    // if the server has a store.
    void add(Store const& store);

    [[nodiscard]] std::filesystem::path const& path() const;  // empty: not open
    // The clients that have introduced themselves, in the order of their arrival.
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    friend struct detail::ServerMaker;

    std::shared_ptr<detail::Endpoint> endpoint_;
};

namespace detail {

// The serve() functions of kernels and objects call these.
struct ServerMaker {
    [[nodiscard]] static Server make(std::filesystem::path const& path,
                                     std::shared_ptr<Lendable> kernel, ServeOptions const& options,
                                     std::string_view name);
    static void add(Server& server, std::string_view name, std::shared_ptr<Lendable> object);
};

}  // namespace detail

}  // namespace carillon
