// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "cuda/cuda_buffer.hpp"
#include "cuda/mapper.hpp"

namespace carillon::detail {
namespace {

class DmaBufAllocation final : public Allocation {
   public:
    DmaBufAllocation(ContextPtr const& context, std::size_t bytes)
        : buffer_(context, bytes), fd_(export_buffer()) {
        void* const where =
            ::mmap(nullptr, buffer_.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
        if (where == MAP_FAILED) throw SystemError("mmap of a dma-buf", errno);
        host = where;
        device = reinterpret_cast<void*>(buffer_.address());
        size = bytes;
        std::memset(host, 0, bytes);
    }
    ~DmaBufAllocation() override { ::munmap(host, buffer_.size()); }
    DmaBufAllocation(DmaBufAllocation const&) = delete;
    DmaBufAllocation& operator=(DmaBufAllocation const&) = delete;

    FileDescriptor export_fd() const override { return fd_.duplicate(); }

   private:
    // Through the PCI BAR where the driver can be asked for that, and else as it likes.
    [[nodiscard]] FileDescriptor export_buffer() const {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(buffer_.context());
        int fd = -1;
        auto const get = [&](unsigned long long flags) {
            return cuda.cuMemGetHandleForAddressRange(&fd, buffer_.address(), buffer_.size(),
                                                      CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
        };
        constexpr unsigned long long through_bar = 1;  // CU_MEM_RANGE_FLAG_..., CUDA 12.8
        if (get(through_bar) != CUDA_SUCCESS) cuda.check(get(0), "cuMemGetHandleForAddressRange");
        return FileDescriptor(fd);
    }

    CudaBuffer buffer_;
    FileDescriptor fd_;
};

class DmaBufMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override { info.memory_source = MemorySource::dma_buf; }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        return std::make_unique<DmaBufAllocation>(context, size);
    }
};

}  // namespace

std::unique_ptr<Mapper> make_dma_buf_mapper(ContextPtr const& context,
                                            DeviceOptions const& /*options*/) {
    if (CudaDriver::get().cuMemGetHandleForAddressRange == nullptr ||
        context->attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
        throw UnsupportedError("cuMemGetHandleForAddressRange",
                               "this driver exports no dma-buf of this GPU's memory");
    }
    return std::make_unique<DmaBufMapper>();
}

}  // namespace carillon::detail
