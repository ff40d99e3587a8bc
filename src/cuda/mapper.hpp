// SPDX-License-Identifier: Apache-2.0
// Where a GPU's device memory comes from. To add a way: implement Mapper, and name it in
// mapper.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "carillon/device.hpp"
#include "cuda/context.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

using ContextPtr = std::shared_ptr<CudaContext>;

// A way to memory that one GPU and the CPU both address.
class Mapper {
   public:
    Mapper() = default;
    virtual ~Mapper() = default;
    Mapper(Mapper const&) = delete;
    Mapper& operator=(Mapper const&) = delete;
    // Fills in DeviceInfo::memory_source and what else is known of the memory.
    virtual void describe(DeviceInfo& info) const = 0;
    // Zeroed, for the kernels of `context`. Throws OutOfMemoryError, and whatever shows that this
    // way is closed here.
    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                                               std::size_t size) const = 0;
    // What another process has got so, and exported. Throws UnsupportedError where it cannot be.
    [[nodiscard]] virtual std::unique_ptr<Allocation> import(ContextPtr const& context,
                                                             FileDescriptor fd,
                                                             std::size_t size) const;
};

// GPU memory from Vulkan, imported into CUDA.
[[nodiscard]] std::unique_ptr<Mapper> make_vulkan_mapper(ContextPtr const& context,
                                                         DeviceOptions const& options);
// GPU memory from CUDA, mapped through its dma-buf: where the driver lets such a file be mapped.
[[nodiscard]] std::unique_ptr<Mapper> make_dma_buf_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options);
// GPU memory from CUDA, mapped by gdrcopy's kernel module and its library, where both are there.
[[nodiscard]] std::unique_ptr<Mapper> make_gdrcopy_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options);
// Page-locked host memory: the GPU polls it across the bus.
[[nodiscard]] std::unique_ptr<Mapper> make_host_mapper();

// Of memory that the program has got from CUDA itself.
struct CudaRange {
    ContextPtr context;
    CUdeviceptr address;  // a multiple of the GPU's pages
    std::size_t size;
};
// The last two of these ways, for it: it keeps what lies there, and is not freed. Throw whatever
// shows that the way is closed here.
[[nodiscard]] std::unique_ptr<Allocation> map_through_dma_buf(CudaRange const& range);
[[nodiscard]] std::unique_ptr<Allocation> map_through_gdrcopy(CudaRange const& range);
// By the first of them that is open. Throws UsageError where CUDA does not know the address,
// UnsupportedError with the reasons where none is open.
[[nodiscard]] std::unique_ptr<Allocation> map_range(CudaRange const& range);

// Page-locked host memory.
[[nodiscard]] std::unique_ptr<Allocation> allocate_page_locked(ContextPtr const& context,
                                                               std::size_t size);
// The same in shared memory, which other processes can map.
[[nodiscard]] std::unique_ptr<Allocation> allocate_shared_page_locked(ContextPtr const& context,
                                                                      Residents& residents,
                                                                      std::size_t size);
// The same of the caller's own bytes; keeps `owner` until they are not registered any more.
[[nodiscard]] std::unique_ptr<Allocation> register_page_locked(ContextPtr const& context,
                                                               Residents& residents,
                                                               std::span<std::byte> bytes,
                                                               std::shared_ptr<void const> owner);

// The first of these ways that is open on this machine, as options.memory wants it; tells `info`.
// A way is tried by taking memory: beside a kernel, which would hold up the free of it, what was
// found before stands. Throws UnsupportedError with the reasons when there is none.
[[nodiscard]] std::shared_ptr<Mapper const> choose_mapper(ContextPtr const& context,
                                                          DeviceOptions const& options,
                                                          Residents& residents, DeviceInfo& info);

}  // namespace carillon::detail
