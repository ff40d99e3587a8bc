// SPDX-License-Identifier: Apache-2.0
// `DeviceReader`, for reading much device memory: the device sends the bytes by stores, which do
// not wait. The CPU's own loads wait for every line to cross the bus (copy_from_device).
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "carillon/detail/host/copy_kernel.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/launch.hpp"

namespace carillon {

struct DeviceReaderOptions {
    std::size_t largest = std::size_t{1} << 20;  // bytes of one read
    unsigned blocks = 4;                         // blocks that share a large read
    unsigned threads = 256;  // threads of a block; a multiple of 32, at most 1024
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends itself after this time; 0: never.
    std::chrono::nanoseconds lifetime{0};
};

namespace detail {

// The CPU's side of a DeviceReader, which contains no device code.
class ReaderClient : public CopyKernel {
   public:
    static constexpr std::size_t largest_in_lines = 8 * payload_bytes;

    ReaderClient(Device const& device, DeviceReaderOptions const& options);

    [[nodiscard]] ReaderBody body() const { return {blocks()}; }
    std::span<std::byte const> read(void const* address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    std::span<std::byte const> read(Memory const& memory, std::size_t offset, std::size_t size,
                                    std::chrono::nanoseconds timeout);

   private:
    void send(CopyRequest const& request, std::uint32_t lines);
    std::span<std::byte const> read_lines(std::uintptr_t address, std::size_t size,
                                          std::chrono::nanoseconds timeout);
    std::span<std::byte const> read_shares(std::uintptr_t address, std::size_t size,
                                           std::chrono::nanoseconds timeout);
    void await_replies(std::chrono::nanoseconds timeout);

    std::size_t largest_;
    std::vector<std::byte> lines_;  // bytes that came in lines
    std::size_t arrived_ = 0;       // their number
};

}  // namespace detail

inline namespace CARILLON_TOOLCHAIN {

// A small kernel that stays on the device, and the host memory that it sends to. One thread at a
// time. For a GPU, nvcc must compile the source that makes it.
class DeviceReader {
   public:
    // Reads of at most this many bytes return in the lines of one reply, without a fence. This is
    // the fastest way for few bytes, but a line carries only 48.
    static constexpr std::size_t largest_in_lines = detail::ReaderClient::largest_in_lines;

    // Allocates and starts the kernel. Throws UsageError, ResidencyError, TimeoutError, CudaError,
    // and what Device::allocate throws.
    explicit DeviceReader(std::same_as<Device> auto const& device,
                          DeviceReaderOptions const& options = {}) try
        : client_(std::make_unique<detail::ReaderClient>(device, options)) {
        // In a template, so that nvcc compiles the kernel only if there is a reader.
        client_->kernel().run(launch(device, client_->shape(), client_->body()));
    } catch (...) {
        detail::throw_named("DeviceReader");
    }

    // Returns the bytes at an address of the device, of any alignment. Each byte was there at some
    // time during the call, but not all at the same time. The read sees this thread's earlier
    // copies to there. The view is valid until the next read. Throws UsageError for more bytes than
    // options.largest and for a null pointer, TimeoutError, StoppedError after a stop or if the
    // kernel has ended, CudaError if it died.
    [[nodiscard]] std::span<std::byte const> read(void const* device_address, std::size_t size,
                                                  std::chrono::nanoseconds timeout) {
        return detail::in_call("DeviceReader::read", *this,
                               [&] { return client_->read(device_address, size, timeout); });
    }
    // Reads bytes of `memory`, from byte `offset` on. Throws UsageError also for a range outside it
    // and for memory of another device.
    [[nodiscard]] std::span<std::byte const> read(Memory const& memory, std::size_t offset,
                                                  std::size_t size,
                                                  std::chrono::nanoseconds timeout) {
        return detail::in_call("DeviceReader::read", *this,
                               [&] { return client_->read(memory, offset, size, timeout); });
    }

    // Ends the kernel; every later read throws StoppedError. Throws TimeoutError if it has not
    // ended within `timeout`, CudaError if it had died. The destructor also ends it.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        detail::in_call("DeviceReader::stop", *this, [&] { client_->kernel().stop(timeout); });
    }
    // Whether the kernel still runs. Throws the error that ended it, such as CudaError.
    [[nodiscard]] bool running() const {
        return detail::in_call("DeviceReader::running", *this,
                               [&] { return client_->kernel().running(); });
    }

    // Throws UsageError after a move, ForkError in a forked child.
    void require_own() const { detail::owned(client_).kernel().require_own(); }

   private:
    std::unique_ptr<detail::ReaderClient> client_;
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon
