// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "carillon/error.hpp"
#include "cuda/mapper.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

class PageLockedAllocation final : public Allocation {
   public:
    PageLockedAllocation(ContextPtr context, std::size_t bytes, std::string_view call)
        : context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        CUresult const result =
            cuda.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError(call,
                                   fmt::format("{} bytes of page-locked memory: cuMemHostAlloc "
                                               "says CUDA_ERROR_OUT_OF_MEMORY",
                                               bytes));
        }
        cuda.check(result, "cuMemHostAlloc");
        CUdeviceptr pointer = 0;
        CUresult const mapped = cuda.cuMemHostGetDevicePointer(&pointer, host, 0);
        if (mapped != CUDA_SUCCESS) cuda.cuMemFreeHost(host);
        cuda.check(mapped, "cuMemHostGetDevicePointer");
        device = reinterpret_cast<void*>(pointer);
        size = bytes;
        std::memset(host, 0, bytes);
    }

    ~PageLockedAllocation() override {
        free_in(*context_, [this] { CudaDriver::get().cuMemFreeHost(host); });
    }
    PageLockedAllocation(PageLockedAllocation const&) = delete;
    PageLockedAllocation& operator=(PageLockedAllocation const&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("Memory::export_fd",
                               "page-locked host memory of a GPU has no file descriptor");
    }

   private:
    ContextPtr context_;
};

class HostMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override {
        info.memory_source = MemorySource::host;
        // The CPU's stores to its own memory become visible in their order, to devices as well.
        info.data_order = DataOrder::fence;
    }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        return allocate_page_locked(context, size, "Device::allocate");
    }
};

}  // namespace

std::unique_ptr<Allocation> allocate_page_locked(ContextPtr context, std::size_t size,
                                                 std::string_view call) {
    require_machine_memory(call, size);
    return std::make_unique<PageLockedAllocation>(std::move(context), size, call);
}

std::unique_ptr<Mapper> make_host_mapper() { return std::make_unique<HostMapper>(); }

}  // namespace carillon::detail
