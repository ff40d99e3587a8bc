// SPDX-License-Identifier: Apache-2.0
// The sources of a GPU's device memory. To add a way: implement Mapper, and name it in mapper.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "carillon/device.hpp"
#include "cuda/context.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

using ContextPtr = std::shared_ptr<CudaContext>;

// The unit in which a GPU's memory can be mapped into the CPU, in bytes.
inline constexpr std::size_t gpu_page = std::size_t{1} << 16U;
[[nodiscard]] constexpr std::size_t whole_gpu_pages(std::size_t bytes) {
    return (bytes + gpu_page - 1) / gpu_page * gpu_page;
}

// Memory that the program has got from CUDA itself.
struct CudaRange {
    ContextPtr context;
    CUdeviceptr address;  // a multiple of gpu_page
    std::size_t size;
};

// A way to memory that one GPU and the CPU both address.
class Mapper {
   public:
    virtual ~Mapper() = default;
    // Fills in DeviceInfo::memory_source and other facts about the memory.
    virtual void describe(DeviceInfo& info) const = 0;
    // Zeroed, for the kernels of `context`. Throws OutOfMemoryError, and any error that shows that
    // this way does not work here.
    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                                               std::size_t size) const = 0;
    // Maps such memory that another process exported. Throws UnsupportedError if it cannot.
    [[nodiscard]] virtual std::unique_ptr<Allocation> import(ContextPtr const& context,
                                                             FileDescriptor fd,
                                                             std::size_t size) const;
    // Maps memory of the program's, which keeps its content and is not freed. Throws any error that
    // shows that this way does not work here.
    [[nodiscard]] virtual std::unique_ptr<Allocation> map(CudaRange const& range) const;
};

// GPU memory from Vulkan, imported into CUDA.
[[nodiscard]] std::unique_ptr<Mapper> make_vulkan_mapper(ContextPtr const& context,
                                                         DeviceOptions const& options);
// GPU memory from CUDA, mapped through its dma-buf, if the driver lets such a file be mapped.
[[nodiscard]] std::unique_ptr<Mapper> make_dma_buf_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options);
// GPU memory from CUDA, mapped by gdrcopy's kernel module and library, if both are there.
[[nodiscard]] std::unique_ptr<Mapper> make_gdrcopy_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options);
// Page-locked host memory: the GPU polls it across the bus.
[[nodiscard]] std::unique_ptr<Mapper> make_host_mapper();

// Maps the range by the first way that works. Throws UsageError if CUDA does not know the address,
// UnsupportedError with the reasons if none works.
[[nodiscard]] std::unique_ptr<Allocation> map_range(CudaRange const& range);

// Page-locked shared memory, which other processes can map.
[[nodiscard]] std::unique_ptr<Allocation> allocate_shared_page_locked(ContextPtr const& context,
                                                                      Residents& residents,
                                                                      std::size_t size);
// Page-locks the caller's bytes; keeps `owner` until they are unregistered.
[[nodiscard]] std::unique_ptr<Allocation> register_page_locked(ContextPtr const& context,
                                                               Residents& residents,
                                                               std::span<std::byte> bytes,
                                                               std::shared_ptr<void const> owner);

// The first way that works on this machine and fits options.memory; fills in `info`. Trying a way
// allocates memory: while a kernel lives, which would hold up the free, an earlier result stands.
// Throws UnsupportedError with the reasons if no way works.
[[nodiscard]] std::shared_ptr<Mapper const> choose_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options,
                                                          Residents& residents, DeviceInfo& info);

}  // namespace carillon::detail
