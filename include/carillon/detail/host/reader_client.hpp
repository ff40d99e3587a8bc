// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/kernel/reader_kernel.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"

namespace carillon {

struct DeviceReaderOptions;

namespace detail {

// The CPU's side of a DeviceReader, for which no device code is needed.
class ReaderClient {
   public:
    static constexpr std::size_t largest_in_lines = 8 * payload_bytes;

    ReaderClient(Device const& device, DeviceReaderOptions const& options);

    [[nodiscard]] LaunchShape shape() const { return shape_; }
    [[nodiscard]] ReaderBody body() const;
    KernelSupervisor& kernel() { return *kernel_; }
    std::span<std::byte const> read(void const* address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    std::span<std::byte const> read(Memory const& memory, std::size_t offset, std::size_t size,
                                    std::chrono::nanoseconds timeout);

   private:
    // A block as the host sees it.
    struct Block {
        HostProducer<ReadRequest> requests;
        HostConsumer<ReadReply> replies;
        std::uint32_t owed = 0;  // lines that it has yet to send
    };

    // Throws UsageError for a range outside the memory, and for memory of another device.
    void require(Memory const& memory, std::size_t offset, std::size_t size) const;
    std::span<std::byte const> read(std::uintptr_t address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    void send(Block& block, ReadRequest const& request, std::uint32_t lines, OutOfLine data);
    void commit() const;
    std::span<std::byte const> read_lines(std::uintptr_t address, std::size_t size,
                                          std::chrono::nanoseconds timeout);
    std::span<std::byte const> read_shares(std::uintptr_t address, std::size_t size,
                                           std::chrono::nanoseconds timeout);
    [[nodiscard]] bool none_owed();
    void await_replies(std::chrono::nanoseconds timeout);

    Device device_;
    KernelOptions options_;
    LaunchShape shape_;
    std::size_t largest_;
    std::shared_ptr<ChannelMemory> channels_;
    Memory buffer_;
    HostMapped far_;
    HostWait wait_;
    std::vector<Block> blocks_;
    std::vector<std::byte> lines_;              // what came back in lines
    std::size_t arrived_ = 0;                   // bytes of it
    std::shared_ptr<KernelSupervisor> kernel_;  // goes first: the memory outlives the kernel
};

}  // namespace detail
}  // namespace carillon
