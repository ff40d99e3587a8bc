// SPDX-License-Identifier: Apache-2.0
// A store of buffers, of this process or of another one (docs/guide/store.md).
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

struct StoreOptions {
    std::size_t bytes = std::size_t{1} << 30;  // of memory, for all buffers together
    // For the buffers of one user. 0: half of `bytes`, except for the store's user and root.
    std::size_t bytes_per_user = 0;
    // Buffers at the same time. Each buffer in host memory takes a descriptor of this process; at
    // most half of RLIMIT_NOFILE is used. A user that is neither the store's nor root makes at most
    // half of the buffers, with half of those descriptors. A quarter of all is reserved for the
    // store's user and root, unless bytes_per_user is above the other three quarters.
    unsigned buffers = 4096;
    // Bytes of memory without a buffer that are kept for the next buffer of the same size and user:
    // allocating a GPU's memory takes long.
    std::size_t kept_bytes = std::size_t{1} << 28;
    // How many threads write a buffer of 128 KiB or more to a GPU's memory, and read it from there:
    // the caller's and up to a quarter of the processors. After create() and after each copy they
    // poll for the next copy for 200 us, and then sleep. 1 or 0: only the caller's.
    unsigned copy_threads = 4;
};

// Buffers in a device's memory, by number and by name. Any thread may use a store; calls to another
// process's store run one at a time. Each call throws RefusedError if the store refuses: the name
// is taken, there is no room, no such buffer, or the buffer is not sealed. A store of another
// process may also throw OwnerGoneError and TimeoutError. Buffers may outlast this object.
class CARILLON_LAYOUT Store {
   public:
    // A store of this process. Throws UsageError for options that allow no buffer.
    explicit Store(Device const& device, StoreOptions const& options = {});
    // The store that another process serves at `path`, like Connection::store(). Throws what
    // Connection's constructor throws, and RefusedError if the server has no store
    // (ConnectOptions::wait_for_owner).
    explicit Store(PathArgument const& path, ConnectOptions const& options = {});
    // Where a store of this process goes, its clients find that out.
    Store(Store&&) noexcept = default;
    Store& operator=(Store&&) noexcept = default;

    // A new mutable buffer of `bytes`, over 0; `name` has up to 63 characters, and is empty for
    // none. Throws UsageError for either, OutOfMemoryError. Mapping another process's memory may
    // throw UnsupportedError, VulkanError, CudaError, SystemError, here and in get().
    [[nodiscard]] Buffer create(NameArgument name, std::size_t bytes) const;
    // A sealed buffer.
    [[nodiscard]] Buffer get(std::uint64_t id) const;
    [[nodiscard]] Buffer get(NameArgument name) const;
    // From now on nobody can get the buffer, and its name is free. Its memory is freed when its
    // last holder releases it. Its maker's user, the store's user, and root may remove it. If
    // the maker let go of the buffer before, the next create() there is faster.
    void remove(std::uint64_t id) const;
    void remove(NameArgument name) const;
    // All buffers that were not removed, in order of their numbers. Another process's store is
    // asked for one at a time: the list may lack or have buffers that come or go meanwhile.
    [[nodiscard]] std::vector<BufferInfo> list() const;
    // Each has its own connection to another process's store, and also throws OwnerGoneError if
    // another owner listens at the path by now.
    [[nodiscard]] SealedEvents sealed_events() const;
    [[nodiscard]] SealedBuffers sealed_buffers() const;

    // The next two throw UsageError if the store is another process's.
    // Lets other processes in by a Server of its own, to which the store is added. Throws
    // UsageError for a path that no socket can have or that is something else, if somebody listens
    // there, and for options that make no sense; SystemError.
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {}) const;
    // The device's end of a doorbell that is rung whenever a buffer is sealed. Pass it to a kernel
    // by value; the kernel must end before the store goes. Throws UsageError the second time.
    [[nodiscard]] Doorbell<Direction::to_device>::DeviceEnd sealed_doorbell() const;

    // The process that owns the store. Throws UsageError if it is this one.
    [[nodiscard]] ConnectedOwner const& owner() const;
    // Why the buffer last made here is in host memory although the store's device has memory of its
    // own; empty if it is not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    friend class Connection;
    friend class Server;
    explicit Store(std::shared_ptr<detail::BufferAccess> access) : access_(std::move(access)) {}

    std::shared_ptr<detail::BufferAccess> access_;
};

}  // namespace carillon
