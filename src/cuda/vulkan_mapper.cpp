// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cuda/mapper.hpp"
#include "os/process.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {
namespace {

class ImportedIntoCuda final : public VulkanAllocation {
   public:
    // `exported` is the block's descriptor.
    ImportedIntoCuda(ContextPtr context, std::unique_ptr<VulkanBlock> mapped,
                     FileDescriptor exported, std::size_t bytes, DeviceInfo const& info)
        : VulkanAllocation(std::move(mapped), bytes, info), context_(std::move(context)) {
        ContextScope const scope(*context_);
        import(std::move(exported));
    }

    ~ImportedIntoCuda() override {
        free_in(*context_, [this] {
            CudaDriver::get().cuMemFree(pointer_);
            CudaDriver::get().cuDestroyExternalMemory(imported_);
        });
    }
    ImportedIntoCuda& operator=(ImportedIntoCuda&&) = delete;

   private:
    void import(FileDescriptor fd) {
        auto const& cuda = CudaDriver::get();
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
        keep_from_children(host, block().allocated());
    }

    ContextPtr context_;
    CUexternalMemory imported_ = nullptr;
    CUdeviceptr pointer_ = 0;
};

class VulkanMapper final : public Mapper {
   public:
    VulkanMapper(Uuid const& uuid, DeviceOptions const& options)
        : vulkan_(VulkanDevice::open(uuid, options)) {
        vulkan_->describe(info_);
    }

    void describe(DeviceInfo& info) const override { vulkan_->describe(info); }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        auto block = vulkan_->allocate(size);
        FileDescriptor exported = block->export_fd();
        auto memory = std::make_unique<ImportedIntoCuda>(context, std::move(block),
                                                         std::move(exported), size, info_);
        std::memset(memory->host, 0, size);
        return memory;
    }
    std::unique_ptr<Allocation> import(ContextPtr const& context, FileDescriptor fd,
                                       std::size_t size) const override {
        FileDescriptor second = fd.duplicate();
        return std::make_unique<ImportedIntoCuda>(context, vulkan_->import(std::move(fd), size),
                                                  std::move(second), size, info_);
    }

   private:
    std::shared_ptr<VulkanDevice> vulkan_;
    DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Mapper> make_vulkan_mapper(ContextPtr const& context,
                                           DeviceOptions const& options) {
    return std::make_unique<VulkanMapper>(context->uuid(), options);
}

}  // namespace carillon::detail
