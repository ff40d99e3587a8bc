// SPDX-License-Identifier: Apache-2.0
// Lets clients of other processes in to kernels of this one, to objects (docs/ipc.md), and to a
// store of buffers (docs/store.md).
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
#include "carillon/detail/wire/language.hpp"
#include "carillon/error.hpp"

namespace carillon {
class CARILLON_LAYOUT Store;
namespace detail {
class Endpoint;
class Lender;
class PublishedObject;
struct ServerMaker;
}  // namespace detail

struct ServeOptions {
    // How the owner calls itself: 1 to 63 characters. None: "store" by Store::serve(), the kernel's
    // name by PersistentKernel::serve(), otherwise "kernel".
    std::optional<std::string> name = std::nullopt;
    // Who may connect: the permissions of the socket, of which writing counts. Whoever may also
    // sees the names, processes, users and counters of all clients (Connection::status()), gets
    // every buffer that is sealed, and sees who has made which.
    unsigned mode = 0600;
    // Who of those may attach: the owner's own user, these users, and who is in one of these
    // groups. Where both are empty, everybody who can connect.
    std::vector<std::uint32_t> users{};
    std::vector<std::uint32_t> groups{};
    // What there may be at the same time, at most: connections, and of each of them channels and
    // objects, bytes of their memory, and descriptors of it. Whoever asks for more is refused, and
    // told which of these it is (RefusalReason::too_many_of_client).
    unsigned connections = 256;
    unsigned channels_per_connection = 8;
    std::size_t bytes_per_connection = std::size_t{1} << 30U;
    unsigned descriptors_per_connection = 64;
    unsigned buffers_per_connection = 256;  // buffers of a store that it holds
    // The same for all connections of one user together, of each user but the owner's and root. 0:
    // half of the connections, and as much of the others as other users may have together. A
    // quarter of the connections, and of the blocks or places of each object, is kept for the
    // owner's user and root, unless a limit here is above the other three quarters.
    unsigned connections_per_user = 0;
    unsigned channels_per_user = 0;
    std::size_t bytes_per_user = 0;
    unsigned descriptors_per_user = 0;
    // For so long after a message about buffers the server's thread looks for the next one before
    // it sleeps, since a thread that has to be woken answers later. It sleeps at once where there
    // are two processors or fewer.
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);
    // Called from the server's thread with a line for people: whom it refused or dropped, and why;
    // of one user so many a second, and how many more. It may call the server, and let it go. All
    // clients wait until it returns, so it should not wait. What it throws is dropped. None:
    // another thread writes the line to stderr, and nobody waits for whoever reads that.
    std::function<void(std::string const& line)> log{};
};

// A connection, as the owner sees it.
struct ConnectedClient {
    std::string name;          // as it calls itself
    std::int32_t process = 0;  // its number when it connected; 0 in another namespace
    std::uint32_t user = 0;
    std::vector<unsigned> blocks;  // that serve it, of whichever kernel
    unsigned buffers = 0;          // that it holds, mutable and immutable ones
};

// What it serves has names, by which clients ask. Clients come and go while it is open; its
// destructor closes the connections, and clients find that their owner has gone. From any thread.
class Server {
   public:
    // Lets nobody in yet: add() first, then open(). Throws UsageError for options that
    // make no sense.
    explicit Server(ServeOptions const& options = {});
    // Is open from the beginning on: a client that comes before an object was added waits for it
    // (ConnectOptions::wait_for_owner), or is refused. Throws as open() does, too.
    explicit Server(PathArgument const& path, ServeOptions const& options = {});
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server();

    // Lets clients in at the path, who find all that was added before. Throws UsageError the second
    // time, and for a path that no socket can have, at which there is something else, or at which
    // somebody listens; SystemError. After a call that failed another one may succeed.
    void open(PathArgument const& path);

    // Lets clients in to a kernel with SharedChannels, too; they ask for `name`, which has 1 to 63
    // characters. Either may outlive the other. Another one may get the name of a kernel that has
    // ended, or of an object that was destroyed. Clients that still have the former one lose it
    // then; its memory is freed by a later add(), or with the server. Throws UsageError for a name
    // that is taken, or is none.
    //
    // The same for a SharedMailbox, SharedRing or SharedChunkRing. One client at a time has it; a
    // SharedMailbox from the device, and a LogService, are read by as many at once as ask. Where
    // the owner destroys one while the server goes on, its clients are told: their calls throw
    // StoppedError, and new ones are refused (RefusalReason::stopping).
    template <class Object>
    void add(NameArgument name, Object const& object) {
        detail::in_call("Server::add", [&] { object.serve(*this, name); });
    }

    // Lets clients in to a store of buffers, one for each server. Either may outlive the other.
    // Where the program destroys the store while the server goes on, the connections of clients
    // that have used it are closed; a server of nothing else lets nobody in any more. Throws
    // UsageError where it has a store.
    void add(Store const& store);

    [[nodiscard]] std::filesystem::path const& path() const;  // empty: it is not open
    // Those that have introduced themselves, in the order in which they came.
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    friend struct detail::ServerMaker;

    std::shared_ptr<detail::Endpoint> endpoint_;
};

namespace detail {

// What the serve() of kernels and objects does.
struct ServerMaker {
    [[nodiscard]] static Server make(std::filesystem::path const& path,
                                     std::shared_ptr<Lender> kernel, ServeOptions const& options,
                                     std::string_view name);
    static void add(Server& server, std::string_view name, std::shared_ptr<Lender> object);
    static void add(Server& server, std::string_view name, std::shared_ptr<PublishedObject> object);
};

}  // namespace detail

}  // namespace carillon
