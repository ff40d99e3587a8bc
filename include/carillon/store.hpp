// SPDX-License-Identifier: Apache-2.0
// `Store`: buffers of device memory that processes share (docs/guide/store.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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

// The options of a store of this process.
struct StoreOptions {
    std::size_t bytes = std::size_t{1} << 30;  // the limit of all buffers' memory
    // Bytes of one user's buffers. 0: half of `bytes`; no limit for the store's user and root.
    std::size_t bytes_per_user = 0;
    // Most buffers at the same time. Each buffer in host memory takes a descriptor of this process;
    // at most half of RLIMIT_NOFILE is used. A user other than the store's and root makes at most
    // half of the buffers, with half of those descriptors. A quarter of all is reserved for the
    // store's user and root, unless bytes_per_user is above the other three quarters.
    unsigned buffers = 4096;
    // Bytes of freed memory that are kept for the next buffer of the same size and user, because
    // allocating a GPU's memory is slow.
    std::size_t kept_bytes = std::size_t{1} << 28;
    // The number of threads that write a buffer of 128 KiB or more to a GPU's memory, and read it
    // from there: the caller's thread and others, up to a quarter of the processors. After create()
    // and each copy they poll 200 us for the next copy, and then sleep. 1 or 0: only the caller's.
    unsigned copy_threads = 4;
};

// Buffers in a device's memory, by number and by name. Any thread may use a store; calls to another
// process's store run one at a time. Each call throws RefusedError if the store refuses: the name
// is taken, there is no room, no such buffer, or the buffer is not sealed. For another process's
// store it may also throw OwnerGoneError and TimeoutError. Buffers may outlive this object.
class CARILLON_LAYOUT Store {
   public:
    // Makes a store of this process. Throws UsageError for options that allow no buffer.
    explicit Store(Device const& device, StoreOptions const& options = {});
    // Connects to the store that another process serves at `path`, like Connection::store(). Throws
    // what Connection's constructor throws, and RefusedError if the server has no store
    // (ConnectOptions::wait_for_owner).
    explicit Store(PathArgument const& path, ConnectOptions const& options = {});
    // When a store of this process is destroyed, its clients learn that it has ended.
    Store(Store&&) noexcept = default;
    Store& operator=(Store&&) noexcept = default;

    // Makes a mutable buffer of `bytes` bytes, over 0. `name` has up to 63 characters; empty: no
    // name. Throws UsageError for either, OutOfMemoryError. Mapping another process's memory may
    // throw UnsupportedError, VulkanError, CudaError, SystemError, here and in get().
    [[nodiscard]] Buffer create(NameArgument name, std::size_t bytes) const;
    // Returns a sealed buffer.
    [[nodiscard]] Buffer get(std::uint64_t id) const;
    [[nodiscard]] Buffer get(NameArgument name) const;
    // Removes the buffer: from now on nobody can get it, and its name is free. Its memory is freed
    // when its last holder releases it. Its maker's user, the store's user, and root may remove it.
    // If the maker released the buffer before, the next create() there is faster.
    void remove(std::uint64_t id) const;
    void remove(NameArgument name) const;
    // Lists all buffers that were not removed, in order of their numbers. Another process's store
    // is asked for one buffer at a time: the list may lack or have buffers that come or go
    // meanwhile.
    [[nodiscard]] std::vector<BufferInfo> list() const;
    // Watches the store. Each result has its own connection to another process's store, and also
    // throws OwnerGoneError if another owner now listens at the path.
    [[nodiscard]] SealedEvents sealed_events() const;
    [[nodiscard]] SealedBuffers sealed_buffers() const;

    // The next two throw UsageError for another process's store. serve() lets other processes use
    // the store by a Server of its own. Throws what Server's constructor with a path throws.
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {}) const;
    // Returns the device's end of a doorbell that rings whenever a buffer is sealed. Pass it to a
    // kernel by value; the kernel must end before the store. Throws UsageError the second time.
    [[nodiscard]] Doorbell<Direction::to_device>::DeviceEnd sealed_doorbell() const;

    // The process that owns the store. Throws UsageError if it is this process.
    [[nodiscard]] ConnectedOwner const& owner() const;
    // The reason why the last buffer made here lies in host memory although the store's device has
    // its own memory; empty if it does not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    friend class Connection;
    friend class Server;
    explicit Store(std::shared_ptr<detail::BufferAccess> access) : access_(std::move(access)) {}

    std::shared_ptr<detail::BufferAccess> access_;
};

}  // namespace carillon
