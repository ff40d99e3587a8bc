// SPDX-License-Identifier: Apache-2.0
// A store of buffers, and the way to one of another process (docs/store.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
class BufferTable;
class StoreSession;
}  // namespace detail

struct BufferStoreOptions {
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

// Buffers in a device's memory, by number and by name. From any thread. Every call of it throws
// RefusedError for what a client would be refused: a name that is taken, no room, no such buffer,
// one that is not sealed.
class CARILLON_LAYOUT BufferStore {
   public:
    // Throws UsageError for options by which there could be no buffer.
    explicit BufferStore(Device const& device, BufferStoreOptions const& options = {});
    BufferStore(BufferStore&&) noexcept;
    BufferStore& operator=(BufferStore&&) noexcept;
    BufferStore(BufferStore const&) = delete;
    BufferStore& operator=(BufferStore const&) = delete;
    // Buffers that somebody holds stay; clients find that their store has gone.
    ~BufferStore();

    // Lets other processes in. Throws UsageError for a path that no socket can have, at which there
    // is something else, or at which somebody listens; for options that make no sense; SystemError.
    // The same as a Server of its own, to which it is added. What else the server is to serve can
    // be added too.
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {}) const;

    // A new one of `bytes`, over 0; `name` of up to 63 characters, empty for none. Throws
    // UsageError for those, OutOfMemoryError.
    [[nodiscard]] MutableBuffer create(NameArgument name, std::size_t bytes) const;
    // One that is sealed.
    [[nodiscard]] Buffer get(std::uint64_t id) const;
    [[nodiscard]] Buffer get(NameArgument name) const;
    // From now on nobody gets it, and its name is free. Its memory is too when the last that holds
    // it lets go of it.
    void remove(std::uint64_t id) const;
    void remove(NameArgument name) const;
    // All that were not removed, by number.
    [[nodiscard]] std::vector<BufferInfo> list() const;
    [[nodiscard]] SealedEvents sealed_events() const;
    [[nodiscard]] SealedBuffers sealed_buffers() const;
    // The device's end of a doorbell that is rung whenever a buffer is sealed: pass it to a kernel
    // by value, which ends before the store goes. Throws UsageError the second time.
    [[nodiscard]] Doorbell<Direction::to_device>::DeviceEnd sealed_doorbell() const;

   private:
    friend class Server;
    [[nodiscard]] detail::BufferAccess& access(char const* call) const;

    std::shared_ptr<detail::BufferTable> table_;
    std::shared_ptr<detail::BufferAccess> access_;
};

struct StoreConnectOptions {
    // How the store calls this client: 1 to 63 characters. Empty: this program's name.
    std::string name{};
    // How long the connection, and each answer of the store, may take; list() ten times as long.
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);
    // For so long it is tried again to connect, as ConnectOptions::wait_for_owner says it.
    std::chrono::nanoseconds wait_for_owner = std::chrono::nanoseconds(0);
    // So long a call looks for the store's answer before it sleeps, and next() of what waits for
    // sealed buffers for one; as ServeOptions::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    // The GPU that kernels of this process are to find buffers on (Buffer::device_ptr). None is
    // needed otherwise, nor CUDA.
    std::optional<Device> device = std::nullopt;
    // create() takes memory of the host's, as it does where this process cannot map the GPU's.
    bool host_memory = false;
    // Of memory that is kept mapped for the next buffer that has it, at most.
    std::size_t kept_bytes = std::size_t{1} << 28;
    // As BufferStoreOptions::copy_threads.
    unsigned copy_threads = 4;
    // The user whose store is meant; as ConnectOptions::owner_user.
    std::optional<std::uint32_t> owner_user = std::nullopt;
};

// A connection to a store of another process. From any thread; one asks at a time. Each call throws
// RefusedError for what the store says no to, and where the server has no store; OwnerGoneError
// when it has gone, TimeoutError. Buffers may outlast it.
class CARILLON_LAYOUT StoreConnection {
   public:
    // Throws SystemError where nobody listens at `path` (StoreConnectOptions::wait_for_owner) or it
    // is not for this user, ProtocolError where no Server listens, RefusedError for a store of
    // another user (StoreConnectOptions::owner_user), UsageError for the options.
    explicit StoreConnection(PathArgument const& path, StoreConnectOptions const& options = {});
    StoreConnection(StoreConnection&&) noexcept;
    StoreConnection& operator=(StoreConnection&&) noexcept;
    StoreConnection(StoreConnection const&) = delete;
    StoreConnection& operator=(StoreConnection const&) = delete;
    ~StoreConnection();

    // As BufferStore's. What maps another process's memory may throw too: UnsupportedError,
    // VulkanError, CudaError, SystemError.
    [[nodiscard]] MutableBuffer create(NameArgument name, std::size_t bytes) const;
    [[nodiscard]] Buffer get(std::uint64_t id) const;
    [[nodiscard]] Buffer get(NameArgument name) const;
    // Of a buffer that this user has made, or where it is the store's own user, or root.
    void remove(std::uint64_t id) const;
    void remove(NameArgument name) const;
    // Asks for one at a time: those that come and go meanwhile may be in it or not.
    [[nodiscard]] std::vector<BufferInfo> list() const;
    // Each by a connection of its own to the same store. Throws OwnerGoneError, too, where another
    // store listens at the path by now.
    [[nodiscard]] SealedEvents sealed_events() const;
    [[nodiscard]] SealedBuffers sealed_buffers() const;

    [[nodiscard]] ConnectedOwner const& owner() const;
    // Why the last buffer that was made here is in host memory although the store's device has
    // memory of its own; empty if it is not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    [[nodiscard]] detail::StoreSession& session(char const* call) const;

    std::shared_ptr<detail::StoreSession> session_;
};

// The same as the constructor.
[[nodiscard]] inline StoreConnection connect_store(PathArgument const& path,
                                                   StoreConnectOptions const& options = {}) {
    return StoreConnection(path, options);
}

}  // namespace carillon
