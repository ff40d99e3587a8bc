// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "cuda/cuda_buffer.hpp"
#include "cuda/mapper.hpp"

namespace carillon::detail {
namespace {

// A mapped range of CUDA's memory, in whole pages.
class DmaBufMapping {
   public:
    DmaBufMapping(CudaContext const& context, CUdeviceptr address, std::size_t size)
        : size_(size),
          fd_(export_range(context, address, size)),
          host_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)) {
        if (host_ == MAP_FAILED) throw SystemError("mmap of a dma-buf", errno);
    }
    ~DmaBufMapping() { ::munmap(host_, size_); }
    DmaBufMapping(DmaBufMapping const&) = delete;
    DmaBufMapping& operator=(DmaBufMapping const&) = delete;

    [[nodiscard]] void* host() const { return host_; }
    [[nodiscard]] FileDescriptor duplicate() const { return fd_.duplicate(); }

   private:
    // Through the PCI BAR if the driver can do that; otherwise the driver chooses.
    static FileDescriptor export_range(CudaContext const& context, CUdeviceptr address,
                                       std::size_t size) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(context);
        int fd = -1;
        auto const get = [&](unsigned long long flags) {
            return cuda.cuMemGetHandleForAddressRange(&fd, address, size,
                                                      CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
        };
        constexpr unsigned long long through_bar = 1;  // CU_MEM_RANGE_FLAG_..., CUDA 12.8
        if (get(through_bar) != CUDA_SUCCESS) cuda.check(get(0), "cuMemGetHandleForAddressRange");
        return FileDescriptor(fd);
    }

    std::size_t size_;
    FileDescriptor fd_;
    void* host_;
};

class DmaBufAllocation final : public Allocation {
   public:
    DmaBufAllocation(ContextPtr const& context, std::size_t bytes)
        : buffer_(context, bytes), mapping_(*context, buffer_.address(), buffer_.size()) {
        host = mapping_.host();
        device = reinterpret_cast<void*>(buffer_.address());
        size = bytes;
        std::memset(host, 0, bytes);
    }

    FileDescriptor export_fd() const override { return mapping_.duplicate(); }

   private:
    CudaBuffer buffer_;
    DmaBufMapping mapping_;
};

// Memory that the program allocated itself.
class DmaBufRange final : public Allocation {
   public:
    explicit DmaBufRange(CudaRange const& range)
        : mapping_(*range.context, range.address, CudaBuffer::whole_pages(range.size)) {
        host = mapping_.host();
        device = reinterpret_cast<void*>(range.address);
        size = range.size;
    }

    FileDescriptor export_fd() const override { return mapping_.duplicate(); }

   private:
    DmaBufMapping mapping_;
};

void require_dma_bufs(CudaContext const& context) {
    if (CudaDriver::get().cuMemGetHandleForAddressRange == nullptr) {
        throw UnsupportedError("dlsym", "libcuda.so.1 has no cuMemGetHandleForAddressRange");
    }
    if (context.attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
        throw UnsupportedError("cuMemGetHandleForAddressRange",
                               "this driver exports no dma-buf of this GPU's memory");
    }
}

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
    require_dma_bufs(*context);
    return std::make_unique<DmaBufMapper>();
}

std::unique_ptr<Allocation> map_through_dma_buf(CudaRange const& range) {
    require_dma_bufs(*range.context);
    return std::make_unique<DmaBufRange>(range);
}

}  // namespace carillon::detail
