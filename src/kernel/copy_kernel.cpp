// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/copy_kernel.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"
#include "error/range.hpp"

namespace carillon::detail {
namespace {

// Throws UsageError.
KernelOptions kernel_options(CopyKernelOptions const& options, unsigned most_threads) {
    if (options.threads == 0 || options.threads % 32 != 0 || options.threads > most_threads) {
        throw UsageError(fmt::format("{} threads are not a multiple of 32, from 32 to {}",
                                     options.threads, most_threads));
    }
    KernelOptions const of_kernel{.blocks = options.blocks,
                                  .capacity = CopyKernel::capacity,
                                  .start_timeout = options.start_timeout,
                                  .stop_timeout = options.stop_timeout,
                                  .lifetime = options.lifetime};
    check_options(of_kernel);
    return of_kernel;
}

}  // namespace

CopyKernel::CopyKernel(Device const& device, CopyKernelOptions const& options,
                       unsigned most_threads, std::size_t buffer_size)
    : device_(device),
      options_(kernel_options(options, most_threads)),
      shape_(launch_shape(options_, options.threads)),
      buffer_(device.allocate_host(buffer_size)),
      channels_(std::make_shared<ChannelMemory>(device, options.blocks, capacity)),
      queue_(device.access(channels_->device_memory()), channels_->device_memory().host_ptr(),
             channels_->device_memory().size()),
      wait_(HostWait::for_kernel(device.traits(), options.blocks)),
      kernel_(KernelSupervisor::make(device_, channels_, options_)) {
    HostMapped const far = device.access(channels_->device_memory());
    for (unsigned i = 0; i < options.blocks; ++i) {
        ChannelView const view = channels_->host_view().channel(i);
        queue_.add_block(Queue::Requests(view.requests, far, HostCached()),
                         Queue::Replies(view.replies, HostCached(), far));
    }
}

CopyBlocks CopyKernel::blocks() const { return {kernel_blocks(device_, options_, *channels_)}; }

void CopyKernel::require(Memory const& memory, std::size_t offset, std::size_t size) const {
    require_range(offset, size, memory.size());
    if (size != 0 && !device_.owns(memory)) throw UsageError("the memory is another device's");
}

}  // namespace carillon::detail
