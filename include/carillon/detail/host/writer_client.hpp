// SPDX-License-Identifier: Apache-2.0
// The CPU's side of a DeviceWriter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "carillon/detail/host/copy_kernel.hpp"
#include "carillon/detail/host/copy_queue.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/ticket.hpp"

namespace carillon {
struct DeviceWriterOptions;
}  // namespace carillon

namespace carillon::detail {

// The CPU's side of a DeviceWriter, which needs no device code.
class WriterClient {
   public:
    // A copy: where to, where from, and how much.
    struct Copy {
        std::uintptr_t to;                // the device's address
        std::uintptr_t from;              // the device's address of page-locked memory
        std::byte const* host = nullptr;  // instead: memory that goes through the chunks
        std::size_t left;                 // bytes that were not asked for yet
        std::size_t piece = 0;            // bytes of a request
    };

    // The size for which a copy by the kernel takes as long as one by the CPU's stores. It was
    // measured on an H200 with memory that CUDA allocated page-locked, and is also used for
    // registered memory. With other memory the kernel saves little, since the CPU copies it too.
    static constexpr std::size_t turning_point = std::size_t{128} << 10;
    static constexpr std::size_t turning_point_of_chunks = std::size_t{1} << 20;

    WriterClient(Device const& device, DeviceWriterOptions const& options);

    [[nodiscard]] LaunchShape shape() const { return copies_.shape(); }
    [[nodiscard]] WriterBody body() const { return {copies_.blocks()}; }
    [[nodiscard]] KernelSupervisor& kernel() const { return copies_.kernel(); }

    // A copy to a range of the device's memory, or to an address; from any memory, or from
    // page-locked memory. They throw UsageError for a range outside a memory, memory of another
    // device, null pointers and more than a program can address.
    [[nodiscard]] Copy copy(Memory const& to, std::size_t offset,
                            std::span<std::byte const> from) const;
    [[nodiscard]] Copy copy(Memory const& to, std::size_t offset, Memory const& from,
                            std::size_t from_offset, std::size_t size) const;
    [[nodiscard]] static Copy copy(void* to, std::span<std::byte const> from);
    [[nodiscard]] static Copy copy(void* to, void const* from, std::size_t size);
    // Waits until the copy is complete.
    void write(Copy copy, std::chrono::nanoseconds timeout);
    // Waits until the blocks are asked for all of it; its source is page-locked.
    [[nodiscard]] Ticket submit(Copy copy, std::chrono::nanoseconds timeout);
    [[nodiscard]] bool try_wait(Ticket const& ticket);
    void wait(Ticket const& ticket, std::chrono::nanoseconds timeout);
    // By the CPU's stores, or like write().
    void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                        std::chrono::nanoseconds timeout);
    void copy_to_device(Memory const& to, std::size_t offset, Memory const& from,
                        std::size_t from_offset, std::size_t size,
                        std::chrono::nanoseconds timeout);

   private:
    // Throws StoppedError.
    void begin(Copy& copy);
    // Asks for as much as there is room for now.
    void ask(Copy& copy);
    void ask_for_pieces(Copy& copy);
    void ask_for_a_chunk(Copy& copy);
    [[nodiscard]] std::size_t piece_of(std::size_t size) const;
    [[nodiscard]] std::uint64_t valid(Ticket const& ticket) const;
    [[nodiscard]] bool is_there(std::uint64_t piece);
    [[nodiscard]] bool cpu_is_faster(std::size_t size, std::size_t least) const;
    // Throws TimeoutError. A copy left by an error is given up.
    template <class Poll>
    void wait_for(Poll&& poll, std::chrono::nanoseconds timeout);
    template <class Poll>
    void wait_or_give_up(Poll&& poll, std::chrono::nanoseconds timeout);

    std::size_t chunk_;
    std::size_t stride_;
    Memory chunks_;
    std::vector<std::uint64_t> used_by_;  // the last piece that came from each chunk
    std::size_t next_chunk_ = 0;
    std::uint64_t issuer_ = new_ticket_issuer();
    std::uint64_t given_up_ = 0;  // the last piece of a copy that was given up
    CopyKernel copies_;           // goes first: the chunks outlive the kernel
    CopyQueue<HostCached, HostMapped> queue_;
};

}  // namespace carillon::detail
