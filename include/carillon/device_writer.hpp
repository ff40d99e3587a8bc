// SPDX-License-Identifier: Apache-2.0
// Writes device memory by having the device fetch it. One thread of the CPU stores into mapped
// memory at a fraction of what the bus carries (copy_to_device); a device's loads fill the bus.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>

#include "carillon/client.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/writer_client.hpp"
#include "carillon/device.hpp"
#include "carillon/launch.hpp"
#include "carillon/memory.hpp"

namespace carillon {

struct DeviceWriterOptions {
    // Page-locked memory that is not the caller's own: what comes from other memory is put into one
    // of `chunks` chunks while the device fetches from the others.
    std::size_t chunk = std::size_t{64} << 10;  // bytes
    unsigned chunks = 8;
    unsigned blocks = 2;     // that share a copy of many bytes
    unsigned threads = 512;  // of a block; a multiple of 32, at most 512
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after so long; 0 for never.
    std::chrono::nanoseconds lifetime{0};
};

inline namespace CARILLON_TOOLCHAIN {

// A small kernel that stays on the device and fetches what it is asked for from the host's memory.
// One thread at a time. On a GPU it is made in a source that nvcc compiles.
//
// When a copy is complete its bytes are *there*: whoever takes a message that is published
// afterwards sees them, and so does every kernel that is launched afterwards. What this thread had
// written to `from` before is copied, and what it had copied `to` the same place is overwritten.
class DeviceWriter {
   public:
    // Of so many bytes on a copy by the kernel is faster than one by the CPU (copy_to_device): from
    // page-locked memory, and from other memory, which the CPU has to copy all the same. The first
    // was measured from memory of Device::allocate_host, and is an estimate for registered memory.
    static constexpr std::size_t turning_point = detail::WriterClient::turning_point;
    static constexpr std::size_t turning_point_of_chunks =
        detail::WriterClient::turning_point_of_chunks;

    // Allocates and starts the kernel. Throws UsageError, ResidencyError, TimeoutError, CudaError,
    // and what Device::allocate_host throws.
    explicit DeviceWriter(std::same_as<Device> auto const& device,
                          DeviceWriterOptions const& options = {}) try
        : client_(std::make_unique<detail::WriterClient>(device, options)) {
        // Of a template: nvcc is to compile the kernel only where there is a writer.
        client_->kernel().run(launch(device, client_->shape(), client_->body()));
    } catch (...) {
        detail::throw_named("DeviceWriter");
    }

    // Copies `from`, which may be any memory of the CPU's, to byte `offset` on of `to`, and waits
    // until it is there. `from` is done with when it returns, also by an error. Throws UsageError
    // for a range outside `to`, for memory of another device and for a null pointer, StoppedError
    // after a stop or when the kernel has ended, CudaError when it died, and TimeoutError: of the
    // bytes any may be there then, and others may follow until a later call has waited for them.
    void write(Memory const& to, std::size_t offset, std::span<std::byte const> from,
               std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, offset, from), timeout); });
    }
    // The same for page-locked memory, which the device fetches from where it lies: `size` bytes
    // from byte `from_offset` on of what Device::allocate_host gave, or of the caller's own that
    // Device::register_host has registered. When it returns `from` may be written again; after a
    // TimeoutError the device may fetch from it until a later call has waited for that.
    void write(Memory const& to, std::size_t offset, Memory const& from, std::size_t from_offset,
               std::size_t size, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this, [&] {
            client_->write(client_->copy(to, offset, from, from_offset, size), timeout);
        });
    }
    // Both for memory that is not a Memory: `to` is an address of the device, of any alignment, and
    // in the second `from` an address at which the device sees host memory that others have
    // page-locked and mapped (cuMemHostGetDevicePointer). A wrong one is a fault of the kernel.
    void write(void* to, std::span<std::byte const> from, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, from), timeout); });
    }
    void write(void* to, void const* from, std::size_t size, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, from, size), timeout); });
    }

    // The same from page-locked memory without waiting until it is there: only until the device has
    // been asked for it, for which there is room at once as a rule. Leave `from` as it is until it
    // is there (a Memory that goes meanwhile is kept while a kernel lives), and let no two copies
    // that are under way write to the same bytes: they are in no order. Throws what write() throws.
    [[nodiscard]] Ticket submit(Memory const& to, std::size_t offset, Memory const& from,
                                std::size_t from_offset, std::size_t size,
                                std::chrono::nanoseconds timeout) {
        return detail::in_call("DeviceWriter::submit", *this, [&] {
            return client_->submit(client_->copy(to, offset, from, from_offset, size), timeout);
        });
    }
    [[nodiscard]] Ticket submit(void* to, void const* from, std::size_t size,
                                std::chrono::nanoseconds timeout) {
        return detail::in_call("DeviceWriter::submit", *this, [&] {
            return client_->submit(client_->copy(to, from, size), timeout);
        });
    }
    // Whether what was submitted is there, with all that was submitted before it. Any number of
    // times. Throws UsageError for a ticket of another writer, StoppedError.
    [[nodiscard]] bool try_wait(Ticket const& ticket) {
        return detail::in_call("DeviceWriter::try_wait", *this,
                               [&] { return client_->try_wait(ticket); });
    }
    // Waits until it is. Throws TimeoutError, after which the ticket is still good, and what
    // write() throws.
    void wait(Ticket const& ticket, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::wait", *this, [&] { client_->wait(ticket, timeout); });
    }

    // Ends the kernel; every later write throws StoppedError. Throws TimeoutError if it has not
    // ended within `timeout`, CudaError if it had died. The destructor does the same.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        detail::in_call("DeviceWriter::stop", *this, [&] { client_->kernel().stop(timeout); });
    }
    // Whether the kernel is still there. Throws CudaError if it died.
    [[nodiscard]] bool running() const {
        return detail::in_call("DeviceWriter::running", *this,
                               [&] { return client_->kernel().running(); });
    }

    // Throws UsageError where it was moved from, ForkError in a child that was forked.
    void require_own() const { (void)detail::owned(client_).kernel().of_this_process(); }

   private:
    friend void copy_to_device(Memory const& to, std::size_t offset,
                               std::span<std::byte const> from, DeviceWriter& writer,
                               std::chrono::nanoseconds timeout);
    friend void copy_to_device(Memory const& to, std::size_t offset, Memory const& from,
                               std::size_t from_offset, std::size_t size, DeviceWriter& writer,
                               std::chrono::nanoseconds timeout);

    std::unique_ptr<detail::WriterClient> client_;
};

// Copies `from` to byte `offset` on of `to`, by the CPU (copy.hpp) or by the writer, whichever is
// faster for so many bytes. When it returns they are visible to whoever takes a message that is
// published afterwards with OutOfLine::written, as after any copy_to_device. Throws what
// DeviceWriter::write and copy_to_device throw; a copy that the CPU makes asks nothing of the
// writer's kernel.
inline void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                           DeviceWriter& writer, std::chrono::nanoseconds timeout) {
    detail::in_call("copy_to_device", writer,
                    [&] { writer.client_->copy_to_device(to, offset, from, timeout); });
}
// The same from byte `from_offset` on of page-locked memory, registered memory among it, where the
// writer is faster from fewer bytes on.
inline void copy_to_device(Memory const& to, std::size_t offset, Memory const& from,
                           std::size_t from_offset, std::size_t size, DeviceWriter& writer,
                           std::chrono::nanoseconds timeout) {
    detail::in_call("copy_to_device", writer, [&] {
        writer.client_->copy_to_device(to, offset, from, from_offset, size, timeout);
    });
}

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon
