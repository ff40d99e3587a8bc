// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cuda/mapper.hpp"
#include "os/process.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {
namespace {

// A block of Vulkan's as CUDA's memory.
class ImportedIntoCuda {
   public:
    // `fd` is the block's descriptor, `bytes` its Vulkan allocation.
    ImportedIntoCuda(ContextPtr context, FileDescriptor fd, std::size_t bytes)
        : context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle{};
        handle.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        handle.handle.fd = fd.get();
        handle.size = bytes;
        cuda.check(cuda.cuImportExternalMemory(&imported_, &handle), "cuImportExternalMemory");
        (void)fd.release();  // a successful import owns the descriptor

        CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
        buffer.size = bytes;
        CUresult const result = cuda.cuExternalMemoryGetMappedBuffer(&pointer_, imported_, &buffer);
        if (result != CUDA_SUCCESS) cuda.cuDestroyExternalMemory(imported_);
        cuda.check(result, "cuExternalMemoryGetMappedBuffer");
    }

    ~ImportedIntoCuda() {
        free_in(*context_, [this] {
            CudaDriver::get().cuMemFree(pointer_);
            CudaDriver::get().cuDestroyExternalMemory(imported_);
        });
    }
    ImportedIntoCuda& operator=(ImportedIntoCuda&&) = delete;

    [[nodiscard]] void* address() const { return reinterpret_cast<void*>(pointer_); }

   private:
    ContextPtr context_;
    CUexternalMemory imported_ = nullptr;
    CUdeviceptr pointer_ = 0;
};

// `exported` is the block's descriptor.
std::unique_ptr<Allocation> imported(ContextPtr const& context, std::unique_ptr<VulkanBlock> block,
                                     FileDescriptor exported) {
    auto const of_cuda =
        std::make_shared<ImportedIntoCuda>(context, std::move(exported), block->allocated);
    block->device = of_cuda->address();
    block->imported = of_cuda;
    keep_from_children(block->host, block->allocated);
    return block;
}

class VulkanMapper final : public Mapper {
   public:
    VulkanMapper(Uuid const& uuid, DeviceOptions const& options)
        : vulkan_(VulkanDevice::open(uuid, options)) {}

    void describe(DeviceInfo& info) const override { vulkan_->describe(info); }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        auto block = vulkan_->allocate(size);
        FileDescriptor exported = block->export_fd();
        auto memory = imported(context, std::move(block), std::move(exported));
        std::memset(memory->host, 0, size);
        return memory;
    }
    std::unique_ptr<Allocation> import(ContextPtr const& context, FileDescriptor fd,
                                       std::size_t size) const override {
        FileDescriptor second = fd.duplicate();
        return imported(context, vulkan_->import(std::move(fd), size), std::move(second));
    }

   private:
    std::shared_ptr<VulkanDevice> vulkan_;
};

}  // namespace

std::unique_ptr<Mapper> make_vulkan_mapper(ContextPtr const& context,
                                           DeviceOptions const& options) {
    return std::make_unique<VulkanMapper>(context->uuid(), options);
}

}  // namespace carillon::detail
