// SPDX-License-Identifier: Apache-2.0
// A store of buffers: this process's own, or another process's (docs/store.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/buffer.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/wire/language.hpp"
#include "carillon/device.hpp"
#include "carillon/flag.hpp"
#include "carillon/server.hpp"

namespace carillon {
namespace detail {
class BufferAccess;
}  // namespace detail

struct StoreOptions {
    std::size_t bytes = std::size_t{1} << 30;  // of memory, for all buffers together
    // Of those that one user has made. 0: half of them, but for the store's user and root.
    std::size_t bytes_per_user = 0;
    // At the same time. Each in host memory takes a descriptor of this process's: of those there
    // are half as many as RLIMIT_NOFILE says.
    unsigned buffers = 4096;
    // One user that is neither the store's nor root makes half of the buffers at most, with half of
    // those descriptors. A quarter of all that is kept for the store's user and root, unless
    // bytes_per_user is above the other three quarters.
    // Of memory that no buffer has: it is kept for the next one of the same size and user, since
    // making some of a GPU's takes long.
    std::size_t kept_bytes = std::size_t{1} << 28;
    // How many threads write a buffer of 128 KiB and more to a GPU's memory, and read it from
    // there: the caller's and up to a quarter of the processors. They look for the next one for
    // 200 us after create() and each copy, and sleep then. 1, or 0: the caller's alone.
    unsigned copy_threads = 4;
};

// Buffers in a device's memory, by number and by name. From any thread; one at a time asks a store
// of another process. Each call throws RefusedError for what the store says no to: a name that is
// taken, no room, no such buffer, one that is not sealed. A store of another process may throw
// OwnerGoneError and TimeoutError too. Buffers may outlast this object.
class CARILLON_LAYOUT Store {
   public:
    // A store of this process. Throws UsageError for options by which there could be no buffer.
    explicit Store(Device const& device, StoreOptions const& options = {});
    // The store that another process serves at `path`. Throws as Connection's constructor, and
    // RefusedError where the server has no store (ConnectOptions::wait_for_owner).
    // Connection::store() gives the same.
    explicit Store(PathArgument const& path, ConnectOptions const& options = {});
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    Store(Store const&) = delete;
    Store& operator=(Store const&) = delete;
    // The clients of a store of this process find that it has gone.
    ~Store();

    // A new one of `bytes`, over 0; `name` of up to 63 characters, empty for none. Throws
    // UsageError for those, OutOfMemoryError. What maps another process's memory may throw
    // UnsupportedError, VulkanError, CudaError, SystemError, here and in get().
    [[nodiscard]] MutableBuffer create(NameArgument name, std::size_t bytes) const;
    // One that is sealed.
    [[nodiscard]] Buffer get(std::uint64_t id) const;
    [[nodiscard]] Buffer get(NameArgument name) const;
    // From now on nobody gets it, and its name is free. Its memory is too when the last that holds
    // it lets go of it. The user that made it may, the store's user, and root.
    void remove(std::uint64_t id) const;
    void remove(NameArgument name) const;
    // All that were not removed, by number. Another process's store is asked for one at a time:
    // those that come and go meanwhile may be in it or not.
    [[nodiscard]] std::vector<BufferInfo> list() const;
    // Each has a connection of its own to another process's store. Throws OwnerGoneError, too,
    // where another owner listens at the path by now.
    [[nodiscard]] SealedEvents sealed_events() const;
    [[nodiscard]] SealedBuffers sealed_buffers() const;

    // The next two throw UsageError where the store is another process's.
    // Lets other processes in by a Server of its own, to which the store is added. Throws
    // UsageError for a path that no socket can have, at which there is something else, or at which
    // somebody listens; for options that make no sense; SystemError.
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {}) const;
    // The device's end of a doorbell that is rung whenever a buffer is sealed: pass it to a kernel
    // by value, which ends before the store goes. Throws UsageError the second time.
    [[nodiscard]] Doorbell<Direction::to_device>::DeviceEnd sealed_doorbell() const;

    // Whose store it is. Throws UsageError where it is this process's.
    [[nodiscard]] ConnectedOwner const& owner() const;
    // Why the last buffer that was made here is in host memory although the store's device has
    // memory of its own; empty if it is not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    friend class Connection;
    friend class Server;
    explicit Store(std::shared_ptr<detail::BufferAccess> access);
    [[nodiscard]] detail::BufferAccess& access(char const* call) const;

    std::shared_ptr<detail::BufferAccess> access_;
};

}  // namespace carillon
