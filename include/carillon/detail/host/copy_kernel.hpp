// SPDX-License-Identifier: Apache-2.0
// The common part of DeviceReader and DeviceWriter on the host: their kernel and its channels.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "carillon/detail/host/copy_queue.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/kernel/copy_blocks.hpp"
#include "carillon/detail/protocol/endpoints.hpp"

namespace carillon::detail {

// The kernel of a DeviceReader or a DeviceWriter, on the host: its blocks' channels, its life, and
// memory through which bytes pass.
class CopyKernel {
   public:
    // Slots of a channel: more than a reply's lines, so that looks for room delay nobody.
    static constexpr std::uint32_t capacity = 64;
    // Data in the kernel's memory keep their remainder by this, to be copied in vectors.
    static constexpr std::size_t vector_bytes = 16;
    // A block's share of a copy is usually a multiple of this.
    static constexpr std::size_t share_unit = 128;

    [[nodiscard]] LaunchShape shape() const { return shape_; }
    [[nodiscard]] KernelSupervisor& kernel() const { return *kernel_; }

   protected:
    using Queue = CopyQueue<HostCached, HostMapped>;

    // `Body` is the blocks' code, `options` are the reader's or the writer's. Throws UsageError for
    // options that no kernel can have, and what Device::allocate throws. The user calls
    // kernel().run().
    template <class Body, class Options>
    CopyKernel(Device const& device, std::type_identity<Body> /*body*/, Options const& options,
               std::size_t buffer_size)
        : CopyKernel(device,
                     {.blocks = options.blocks,
                      .capacity = capacity,
                      .start_timeout = options.start_timeout,
                      .stop_timeout = options.stop_timeout,
                      .lifetime = options.lifetime},
                     options.threads, most_threads_of<Body>, buffer_size) {}

    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] CopyBlocks blocks() const;
    [[nodiscard]] Memory const& buffer() const { return buffer_; }
    [[nodiscard]] Queue& queue() { return queue_; }
    [[nodiscard]] Queue const& queue() const { return queue_; }
    // Waits for `poll`, or until the kernel has ended; returns whether `poll` succeeded.
    template <class Poll>
    [[nodiscard]] bool wait_until(Poll&& poll, std::chrono::nanoseconds timeout) const {
        return wait_.until(poll, timeout, [this] { kernel_->require_alive(); });
    }
    // Throws UsageError for a range outside the memory, and for memory of another device.
    void require(Memory const& memory, std::size_t offset, std::size_t size) const;

   private:
    CopyKernel(Device const& device, KernelOptions const& options, unsigned threads,
               unsigned most_threads, std::size_t buffer_size);

    Device device_;
    KernelOptions options_;
    LaunchShape shape_;
    Memory buffer_;
    std::shared_ptr<ChannelMemory> channels_;
    Queue queue_;
    HostWait wait_;
    std::shared_ptr<KernelSupervisor> kernel_;  // destroyed first: the memory outlives the kernel
};

}  // namespace carillon::detail
