// SPDX-License-Identifier: Apache-2.0
// The CPU's side of a DeviceReader.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "carillon/detail/host/copy_kernel.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"

namespace carillon {
struct DeviceReaderOptions;
}  // namespace carillon

namespace carillon::detail {

// The CPU's side of a DeviceReader, which needs no device code.
class ReaderClient {
   public:
    static constexpr std::size_t largest_in_lines = 8 * payload_bytes;

    ReaderClient(Device const& device, DeviceReaderOptions const& options);

    [[nodiscard]] LaunchShape shape() const { return copies_.shape(); }
    [[nodiscard]] ReaderBody body() const { return {copies_.blocks()}; }
    KernelSupervisor& kernel() { return copies_.kernel(); }
    std::span<std::byte const> read(void const* address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    std::span<std::byte const> read(Memory const& memory, std::size_t offset, std::size_t size,
                                    std::chrono::nanoseconds timeout);

   private:
    // A block, for the host.
    struct Block {
        HostProducer<CopyRequest> requests;
        HostConsumer<CopyReply> replies;
        std::uint32_t owed = 0;  // lines that it has yet to send
    };

    std::span<std::byte const> read(std::uintptr_t address, std::size_t size,
                                    std::chrono::nanoseconds timeout);
    void send(Block& block, CopyRequest const& request, std::uint32_t lines, OutOfLine data);
    std::span<std::byte const> read_lines(std::uintptr_t address, std::size_t size,
                                          std::chrono::nanoseconds timeout);
    std::span<std::byte const> read_shares(std::uintptr_t address, std::size_t size,
                                           std::chrono::nanoseconds timeout);
    [[nodiscard]] bool none_owed();
    void await_replies(std::chrono::nanoseconds timeout);

    std::size_t largest_;
    Memory buffer_;
    CopyKernel copies_;
    std::vector<Block> blocks_;
    std::vector<std::byte> lines_;  // bytes that came back in lines
    std::size_t arrived_ = 0;       // how many of them
};

}  // namespace carillon::detail
