// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_memory.hpp"

#include <fmt/format.h>

#include <cstring>

#include "vulkan/vulkan_allocation.hpp"

namespace carillon::detail {
namespace {

class MappedAllocation final : public VulkanAllocation {
   public:
    MappedAllocation(std::shared_ptr<CudaContext> context, VulkanDevice const& vulkan,
                     std::size_t bytes, DeviceInfo const& info)
        : VulkanAllocation(vulkan.allocate(bytes), bytes, info), context_(std::move(context)) {
        ContextScope const scope(*context_);
        import();
        std::memset(host, 0, bytes);
    }

    ~MappedAllocation() override {
        auto const& cuda = CudaDriver::get();
        if (cuda.cuCtxPushCurrent(context_->get()) != CUDA_SUCCESS) return;
        cuda.cuMemFree(pointer_);
        cuda.cuDestroyExternalMemory(imported_);
        CUcontext popped = nullptr;
        cuda.cuCtxPopCurrent(&popped);
    }
    MappedAllocation(MappedAllocation const&) = delete;
    MappedAllocation& operator=(MappedAllocation const&) = delete;

   private:
    void import() {
        auto const& cuda = CudaDriver::get();
        FileDescriptor fd = export_fd();
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle{};
        handle.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        handle.handle.fd = fd.get();
        handle.size = block().allocated();
        cuda.check(cuda.cuImportExternalMemory(&imported_, &handle), "cuImportExternalMemory");
        (void)fd.release();  // a successful import owns the descriptor

        CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
        buffer.size = block().allocated();
        CUresult const result = cuda.cuExternalMemoryGetMappedBuffer(&pointer_, imported_, &buffer);
        if (result != CUDA_SUCCESS) cuda.cuDestroyExternalMemory(imported_);
        cuda.check(result, "cuExternalMemoryGetMappedBuffer");
        device = reinterpret_cast<void*>(pointer_);
    }

    std::shared_ptr<CudaContext> context_;
    CUexternalMemory imported_ = nullptr;
    CUdeviceptr pointer_ = 0;
};

class PageLockedAllocation final : public Allocation {
   public:
    PageLockedAllocation(std::shared_ptr<CudaContext> context, std::size_t bytes)
        : context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        CUresult const result =
            cuda.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError("Device::allocate_host",
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
        auto const& cuda = CudaDriver::get();
        if (cuda.cuCtxPushCurrent(context_->get()) != CUDA_SUCCESS) return;
        cuda.cuMemFreeHost(host);
        CUcontext popped = nullptr;
        cuda.cuCtxPopCurrent(&popped);
    }
    PageLockedAllocation(PageLockedAllocation const&) = delete;
    PageLockedAllocation& operator=(PageLockedAllocation const&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("Memory::export_fd",
                               "page-locked host memory of a GPU has no file descriptor");
    }

   private:
    std::shared_ptr<CudaContext> context_;
};

}  // namespace

std::unique_ptr<Allocation> allocate_mapped(std::shared_ptr<CudaContext> context,
                                            VulkanDevice const& vulkan, std::size_t size,
                                            DeviceInfo const& info) {
    return std::make_unique<MappedAllocation>(std::move(context), vulkan, size, info);
}

std::unique_ptr<Allocation> allocate_page_locked(std::shared_ptr<CudaContext> context,
                                                 std::size_t size) {
    return std::make_unique<PageLockedAllocation>(std::move(context), size);
}

}  // namespace carillon::detail
