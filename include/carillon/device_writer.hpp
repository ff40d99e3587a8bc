// SPDX-License-Identifier: Apache-2.0
// `DeviceWriter`, for writing much device memory: the device fetches the bytes, and its loads fill
// the bus. One CPU thread's stores (copy_to_device) reach a fraction of the bus's bandwidth.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "carillon/detail/host/copy_kernel.hpp"
#include "carillon/detail/host/copy_queue.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/launch.hpp"
#include "carillon/ticket.hpp"

namespace carillon {

struct DeviceWriterOptions {
    // The writer's pinned memory. Bytes of memory that is not pinned are copied into one of
    // `chunks` chunks while the device fetches from the others.
    std::size_t chunk = std::size_t{64} << 10;  // bytes
    unsigned chunks = 8;
    unsigned blocks = 2;     // blocks that share a large copy
    unsigned threads = 512;  // threads of a block; a multiple of 32, at most 512
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends itself after this time; 0: never.
    std::chrono::nanoseconds lifetime{0};
};

namespace detail {

// The CPU's side of a DeviceWriter, which contains no device code.
class WriterClient : public CopyKernel {
   public:
    // A copy: its target, its source and its size.
    struct Copy {
        std::uintptr_t to;                // the device's address
        std::uintptr_t from;              // the device's address of pinned memory
        std::byte const* host = nullptr;  // instead: memory that goes through the chunks
        std::size_t left;                 // bytes that were not requested yet
        std::size_t piece = 0;            // bytes of one request
    };

    WriterClient(Device const& device, DeviceWriterOptions const& options);

    [[nodiscard]] WriterBody body() const { return {blocks()}; }

    // Makes a copy to a range of device memory or to an address, from any memory or from
    // pinned memory. Throws UsageError for a range outside a memory, memory of another device,
    // null pointers, and more bytes than a program can address.
    [[nodiscard]] Copy copy(Memory const& to, std::size_t offset,
                            std::span<std::byte const> from) const;
    [[nodiscard]] Copy copy(Memory const& to, std::size_t offset, Memory const& from,
                            std::size_t from_offset, std::size_t size) const;
    [[nodiscard]] static Copy copy(void* to, std::span<std::byte const> from);
    [[nodiscard]] static Copy copy(void* to, void const* from, std::size_t size);
    // Waits until the copy is complete.
    void write(Copy copy, std::chrono::nanoseconds timeout);
    // Waits until all of the copy has been requested from the blocks; its source is pinned.
    [[nodiscard]] Ticket submit(Copy copy, std::chrono::nanoseconds timeout);
    [[nodiscard]] bool try_wait(Ticket const& ticket);
    void wait(Ticket const& ticket, std::chrono::nanoseconds timeout);
    // Copies by the CPU's stores if there are fewer bytes than `least`, otherwise like write().
    // `copy` describes the same copy.
    void copy_to_device(Copy const& copy, Memory const& to, std::size_t offset,
                        std::span<std::byte const> from, std::size_t least,
                        std::chrono::nanoseconds timeout);

   private:
    // Throws StoppedError.
    void begin(Copy& copy);
    // Requests as much as there is room for now.
    void ask(Copy& copy);
    void ask_for_pieces(Copy& copy);
    void ask_for_a_chunk(Copy& copy);
    [[nodiscard]] std::size_t piece_of(std::size_t size) const;
    [[nodiscard]] std::uint64_t valid(Ticket const& ticket) const;
    [[nodiscard]] bool is_there(std::uint64_t piece);
    // Throws TimeoutError. A copy left by an error is given up.
    template <class Poll>
    void wait_for(Poll&& poll, std::chrono::nanoseconds timeout);
    template <class Poll>
    void wait_or_give_up(Poll&& poll, std::chrono::nanoseconds timeout);

    std::size_t chunk_;
    std::size_t stride_;
    std::vector<std::uint64_t> used_by_;  // the last piece that came from each chunk
    std::size_t next_chunk_ = 0;
    std::uint64_t issuer_ = new_ticket_issuer();
    std::uint64_t given_up_ = 0;  // the last piece of a copy that was given up
};

}  // namespace detail

inline namespace CARILLON_TOOLCHAIN {

// A small kernel that stays on the device and fetches bytes from host memory on request. One thread
// at a time. For a GPU, nvcc must compile the source that makes it.
//
// When a copy is complete, its bytes are *there*: the readers of messages published later and the
// kernels launched later see them. The copy sees this thread's earlier writes to `from`, and
// replaces its earlier copies to the same place.
class DeviceWriter {
   public:
    // From this size on, a copy by the kernel is faster than one by the CPU (copy_to_device). The
    // first is for pinned memory, the second for other memory, which the CPU has to copy in
    // any case. The first was measured on an H200 with memory of Device::allocate_host, and is an
    // estimate for registered memory.
    static constexpr std::size_t turning_point = std::size_t{128} << 10;
    static constexpr std::size_t turning_point_of_chunks = std::size_t{1} << 20;

    // Allocates and starts the kernel. Throws UsageError, ResidencyError, TimeoutError, CudaError,
    // and what Device::allocate_host throws.
    explicit DeviceWriter(std::same_as<Device> auto const& device,
                          DeviceWriterOptions const& options = {}) try
        : client_(std::make_unique<detail::WriterClient>(device, options)) {
        // In a template, so that nvcc compiles the kernel only if there is a writer.
        client_->kernel().run(launch(device, client_->shape(), client_->body()));
    } catch (...) {
        detail::throw_named("DeviceWriter");
    }

    // Copies `from`, any memory of the CPU, to `to` from byte `offset` on, and waits until the
    // bytes are there. When it returns or throws, `from` is no longer used. Throws UsageError for a
    // range outside `to`, for memory of another device and for a null pointer; StoppedError after a
    // stop or if the kernel has ended; CudaError if it died; TimeoutError: some of the bytes may
    // then be there, and others may follow until a later call has waited for them.
    void write(Memory const& to, std::size_t offset, std::span<std::byte const> from,
               std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, offset, from), timeout); });
    }
    // Copies from pinned memory, from which the device fetches directly: `size` bytes from
    // byte `from_offset` on, of memory from Device::allocate_host or Device::register_host. When it
    // returns, `from` may be written again. After a TimeoutError the device may fetch from it until
    // a later call has waited for that.
    void write(Memory const& to, std::size_t offset, Memory const& from, std::size_t from_offset,
               std::size_t size, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this, [&] {
            client_->write(client_->copy(to, offset, from, from_offset, size), timeout);
        });
    }
    // Both copies for memory that is not a Memory. `to` is an address of the device, of any
    // alignment. In the second form `from` is the device's address of pinned and mapped host
    // memory (cuMemHostGetDevicePointer). A wrong address is a kernel fault.
    void write(void* to, std::span<std::byte const> from, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, from), timeout); });
    }
    void write(void* to, void const* from, std::size_t size, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::write", *this,
                        [&] { client_->write(client_->copy(to, from, size), timeout); });
    }

    // Requests a copy from pinned memory. It waits only for room for the request, which is
    // usually free at once. Leave `from` unchanged until the copy is complete (a Memory that is
    // destroyed meanwhile stays while a kernel lives). Do not let two outstanding copies write the
    // same bytes: their order is unspecified. Throws what write() throws.
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
    // Whether a submitted copy, and all copies submitted before it, are complete. It can be called
    // any number of times. Throws UsageError for another writer's ticket, StoppedError.
    [[nodiscard]] bool try_wait(Ticket const& ticket) {
        return detail::in_call("DeviceWriter::try_wait", *this,
                               [&] { return client_->try_wait(ticket); });
    }
    // Waits for the copy's end. Throws what write() throws; the ticket survives a TimeoutError.
    void wait(Ticket const& ticket, std::chrono::nanoseconds timeout) {
        detail::in_call("DeviceWriter::wait", *this, [&] { client_->wait(ticket, timeout); });
    }

    // Ends the kernel; every later write throws StoppedError. Throws TimeoutError if it has not
    // ended within `timeout`, CudaError if it had died. The destructor also ends it.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        detail::in_call("DeviceWriter::stop", *this, [&] { client_->kernel().stop(timeout); });
    }
    // Whether the kernel still runs. Throws the error that ended it, such as CudaError.
    [[nodiscard]] bool running() const {
        return detail::in_call("DeviceWriter::running", *this,
                               [&] { return client_->kernel().running(); });
    }

    // Throws UsageError after a move, ForkError in a forked child.
    void require_own() const { detail::owned(client_).kernel().require_own(); }

   private:
    friend void copy_to_device(Memory const& to, std::size_t offset,
                               std::span<std::byte const> from, DeviceWriter& writer,
                               std::chrono::nanoseconds timeout);
    friend void copy_to_device(Memory const& to, std::size_t offset, Memory const& from,
                               std::size_t from_offset, std::size_t size, DeviceWriter& writer,
                               std::chrono::nanoseconds timeout);

    std::unique_ptr<detail::WriterClient> client_;
};

// Copies `from` to `to`, from byte `offset` on, by the CPU (copy.hpp) or by the writer, whichever
// is faster for that size. When it returns, the bytes are visible to the reader of a message that
// is published afterwards with OutOfLine::written. Throws what DeviceWriter::write and
// copy_to_device throw. A copy by the CPU works even if the writer's kernel has ended.
inline void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                           DeviceWriter& writer, std::chrono::nanoseconds timeout) {
    detail::in_call("copy_to_device", writer, [&] {
        auto& client = *writer.client_;
        client.copy_to_device(client.copy(to, offset, from), to, offset, from,
                              DeviceWriter::turning_point_of_chunks, timeout);
    });
}
// Copies pinned memory, from byte `from_offset` on. For it the writer is faster from a smaller
// size on.
inline void copy_to_device(Memory const& to, std::size_t offset, Memory const& from,
                           std::size_t from_offset, std::size_t size, DeviceWriter& writer,
                           std::chrono::nanoseconds timeout) {
    detail::in_call("copy_to_device", writer, [&] {
        auto& client = *writer.client_;
        auto const copy = client.copy(to, offset, from, from_offset, size);
        auto const* const bytes = static_cast<std::byte const*>(from.host_ptr()) + from_offset;
        client.copy_to_device(copy, to, offset, {bytes, size}, DeviceWriter::turning_point,
                              timeout);
    });
}

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon
