// SPDX-License-Identifier: Apache-2.0
// Lets clients of other processes in to kernels of this one, to objects (docs/dev/protocol.md), and
// to a store of buffers (docs/guide/store.md).
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

struct ServeOptions {
    // The owner's name: 1 to 63 characters. None: "store" by Store::serve(), the kernel's name by
    // PersistentKernel::serve(), otherwise "kernel".
    std::optional<std::string> name = std::nullopt;
    // The permissions of the socket: a process that may write to it may connect. A client also sees
    // the names, processes, users and counters of all clients (Connection::status()), gets every
    // sealed buffer, and sees which client made it.
    unsigned mode = 0600;
    // Only the owner's own user, these users and members of these groups become clients. If both
    // are empty, every process that can connect does.
    std::vector<std::uint32_t> users{};
    std::vector<std::uint32_t> groups{};
    // Limits of what exists at the same time: connections, and for each of them channels and
    // objects, bytes of their memory, and its descriptors. The server refuses a client that asks
    // for more, and names the limit (RefusalReason::too_many_of_client).
    unsigned connections = 256;
    unsigned channels_per_connection = 8;
    std::size_t bytes_per_connection = std::size_t{1} << 30U;
    unsigned descriptors_per_connection = 64;
    unsigned buffers_per_connection = 256;  // held buffers of a store
    // Limits of all connections of one user together; the owner's user and root have none of these.
    // 0: half of the connections, and as much of the others as other users may have together. A
    // quarter of the connections, and of the blocks or places of each object, is kept for the
    // owner's user and root, unless a limit here is above the other three quarters.
    unsigned connections_per_user = 0;
    unsigned channels_per_user = 0;
    std::size_t bytes_per_user = 0;
    unsigned descriptors_per_user = 0;
    // The server's thread looks so long for the next message about buffers before it sleeps, since
    // a thread that has to be woken answers later. With two processors or fewer it sleeps at once.
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);
    // The server's thread calls it with a line for people: which client it refused or dropped, and
    // why. It says so many lines a second of one user, and then how many more. The function may
    // call the server, and destroy it. All clients wait until it returns, so it should not wait.
    // The server drops its exceptions. None: another thread writes the line to stderr.
    std::function<void(std::string const& line)> log{};
};

// A connection, as the owner sees it.
struct ConnectedClient {
    std::string name;          // the name that it gave itself
    std::int32_t process = 0;  // the process's number when it connected; 0 in another namespace
    std::uint32_t user = 0;
    std::vector<unsigned> blocks;  // the blocks that serve it, of any kernel
    unsigned buffers = 0;          // held buffers, mutable and immutable ones
};

// Serves objects to clients by name. Clients come and go while it is open. Its destructor closes
// the connections, and clients find that their owner has gone. Any thread may call it.
class Server {
   public:
    // The server lets nobody in yet: call add(), then open(). Throws UsageError for options that
    // make no sense.
    explicit Server(ServeOptions const& options = {});
    // The server is open at once: a client that asks for an object before its add() waits for it
    // (ConnectOptions::wait_for_owner), or is refused. Throws as open() does, too.
    explicit Server(PathArgument const& path, ServeOptions const& options = {});
    Server(Server&&) noexcept = default;
    Server& operator=(Server&&) noexcept = default;

    // Lets clients in at the path; they find all that was added before. Throws UsageError the
    // second time, for a path that no socket can have, and for one that something else or a
    // listener has; SystemError. After a failed call another one may succeed.
    void open(PathArgument const& path);

    // Lets clients in to a kernel with SharedChannels or a SharedPool; they ask for `name`, which
    // has 1 to 63 characters. Server and object may outlive each other. Another one may get the
    // name of a kernel that has ended, or of an object that was destroyed. Clients of the former
    // one lose it then; a later add(), or the server's end, frees its memory. Throws UsageError for
    // a name that is taken or impossible.
    //
    // It also takes a SharedMailbox, SharedRing or SharedChunkRing. One client at a time has it;
    // any number read a SharedMailbox from the device, and a LogService. If the owner destroys one
    // while the server goes on, its clients' calls throw StoppedError, and new clients are refused
    // (RefusalReason::stopping).
    template <class Object>
    void add(NameArgument name, Object const& object) {
        detail::in_call("Server::add", [&] { object.serve(*this, name); });
    }

    // Lets clients in to a store of buffers, one for each server. Server and store may outlive each
    // other. If the program destroys the store while the server goes on, the server closes the
    // connections that have used it; a server of nothing else lets nobody in any more. Throws
    // UsageError if the server has a store.
    void add(Store const& store);

    [[nodiscard]] std::filesystem::path const& path() const;  // empty: it is not open
    // The clients that have introduced themselves, in the order of their coming.
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    friend struct detail::ServerMaker;

    std::shared_ptr<detail::Endpoint> endpoint_;
};

namespace detail {

// The serve() of kernels and objects calls these.
struct ServerMaker {
    [[nodiscard]] static Server make(std::filesystem::path const& path,
                                     std::shared_ptr<Lendable> kernel, ServeOptions const& options,
                                     std::string_view name);
    static void add(Server& server, std::string_view name, std::shared_ptr<Lendable> object);
};

}  // namespace detail

}  // namespace carillon
