// SPDX-License-Identifier: Apache-2.0
// Reads device memory by having the device send it. The CPU's own loads wait for every line to
// come across the bus (copy_from_device); a device's stores do not wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/kernel/reader_kernel.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/device.hpp"
#include "carillon/launch.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"

namespace carillon {

struct DeviceReaderOptions {
    std::size_t largest = std::size_t{1} << 20;  // bytes of one read
    unsigned blocks = 4;                         // that share a read of many bytes
    unsigned threads = 256;                      // of a block; a multiple of 32, at most 1024
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after so long; 0 for never.
    std::chrono::nanoseconds lifetime{0};
};

namespace detail {

// The CPU's side of a DeviceReader, for which no device code is needed.
class ReaderClient {
   public:
    ReaderClient(Device const& device, DeviceReaderOptions const& options);

    [[nodiscard]] LaunchShape shape() const { return {options_.blocks, options_.threads}; }
    [[nodiscard]] ReaderBody body() const;
    std::span<std::byte const> read(std::uintptr_t address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    KernelSupervisor& kernel() { return *kernel_; }
    // Throws UsageError for a range outside the memory, and for memory of another device.
    void require(Memory const& memory, std::size_t offset, std::size_t size) const;

   private:
    // A block as the host sees it.
    struct Block {
        HostProducer<ReadRequest> requests;
        HostConsumer<ReadReply> replies;
        std::uint32_t owed = 0;  // lines that it has yet to send
    };

    [[nodiscard]] KernelOptions kernel_options() const;
    void send(Block& block, ReadRequest const& request, std::uint32_t lines, OutOfLine data);
    void commit() const;
    std::span<std::byte const> read_lines(std::uintptr_t address, std::size_t size,
                                          std::chrono::nanoseconds timeout);
    std::span<std::byte const> read_shares(std::uintptr_t address, std::size_t size,
                                           std::chrono::nanoseconds timeout);
    [[nodiscard]] bool none_owed();
    void await_replies(std::chrono::nanoseconds timeout);

    Device device_;
    DeviceReaderOptions options_;
    std::shared_ptr<ChannelMemory> channels_;
    Memory buffer_;
    HostMapped far_;
    HostWait wait_;
    std::vector<Block> blocks_;
    std::vector<std::byte> lines_;              // what came back in lines
    std::size_t arrived_ = 0;                   // bytes of it
    std::shared_ptr<KernelSupervisor> kernel_;  // goes first: the memory outlives the kernel
};

inline namespace CARILLON_TOOLCHAIN {
// A template: nvcc is to compile the kernel only where there is a reader (as ProbeLaunch).
struct ReaderLaunch {
    template <class Body>
    static RunningKernel run(Device const& device, LaunchShape shape, Body const& body) {
        return launch(device, shape, body);
    }
};
}  // namespace CARILLON_TOOLCHAIN

}  // namespace detail

// A small kernel that stays on the device and the host memory that it sends to. One thread at a
// time. A program of sources that nvcc compiles and others makes it in those alone.
class DeviceReader {
   public:
    // Reads of so many bytes at most come back in the lines of one reply, without a fence: the
    // fastest way for few, but a line brings only 48.
    static constexpr std::size_t largest_in_lines = 8 * payload_bytes;

    // Allocates and starts the kernel. Throws UsageError, ResidencyError, TimeoutError, CudaError,
    // and what Device::allocate throws.
    template <class Launch = detail::ReaderLaunch>
    explicit DeviceReader(Device const& device, DeviceReaderOptions const& options = {})
        : client_(std::make_unique<detail::ReaderClient>(device, options)) {
        client_->kernel().run(Launch::run(device, client_->shape(), client_->body()));
    }

    // The bytes at an address of the device, of any alignment: what was there at some time during
    // the call, not all of it at the same time. What this thread copied there before is seen. The
    // view is valid until the next read. Throws UsageError for more bytes than options.largest and
    // for a null pointer, TimeoutError, StoppedError after a stop or when the kernel has ended,
    // CudaError when it died.
    [[nodiscard]] std::span<std::byte const> read(void const* device_address, std::size_t size,
                                                  std::chrono::nanoseconds timeout);
    // The same from byte `offset` on of `memory`. Throws UsageError for a range outside it,
    // and for memory of another device, too.
    [[nodiscard]] std::span<std::byte const> read(Memory const& memory, std::size_t offset,
                                                  std::size_t size,
                                                  std::chrono::nanoseconds timeout);

    // Ends the kernel; every later read throws StoppedError. Throws TimeoutError if it has not
    // ended within `timeout`, CudaError if it had died. The destructor does the same.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        client("DeviceReader::stop").kernel().stop(timeout);
    }
    // Whether the kernel is still there. Throws CudaError if it died.
    [[nodiscard]] bool running() const {
        return client("DeviceReader::running").kernel().running();
    }

   private:
    [[nodiscard]] detail::ReaderClient& client(std::string_view call) const {
        detail::ReaderClient& client = detail::owned(client_, call);
        (void)client.kernel().of_this_process(call);
        return client;
    }

    std::unique_ptr<detail::ReaderClient> client_;
};

}  // namespace carillon
