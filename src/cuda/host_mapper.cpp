// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "carillon/error.hpp"
#include "cuda/mapper.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

// Page-locked, the library's or the caller's own.
class HostAllocation : public Allocation {
   public:
    explicit HostAllocation(ContextPtr context) : context_(std::move(context)) {}

    // Where the device has it.
    [[nodiscard]] CUresult map() {
        CUdeviceptr pointer = 0;
        CUresult const result = CudaDriver::get().cuMemHostGetDevicePointer(&pointer, host, 0);
        device = reinterpret_cast<void*>(pointer);
        return result;
    }

    FileDescriptor export_fd() const override {
        throw UnsupportedError("Memory::export_fd",
                               "page-locked host memory of a GPU has no file descriptor");
    }

   protected:
    [[nodiscard]] CudaContext const& context() const { return *context_; }

   private:
    ContextPtr context_;
};

class PageLockedAllocation final : public HostAllocation {
   public:
    PageLockedAllocation(ContextPtr in, std::size_t bytes, std::string_view call)
        : HostAllocation(std::move(in)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(context());
        CUresult const result =
            cuda.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError(call,
                                   fmt::format("{} bytes of page-locked memory: cuMemHostAlloc "
                                               "says CUDA_ERROR_OUT_OF_MEMORY",
                                               bytes));
        }
        cuda.check(result, "cuMemHostAlloc");
        CUresult const mapped = map();
        if (mapped != CUDA_SUCCESS) cuda.cuMemFreeHost(host);
        cuda.check(mapped, "cuMemHostGetDevicePointer");
        size = bytes;
        std::memset(host, 0, bytes);
    }

    ~PageLockedAllocation() override {
        free_in(context(), [this] { CudaDriver::get().cuMemFreeHost(host); });
    }
    PageLockedAllocation(PageLockedAllocation const&) = delete;
    PageLockedAllocation& operator=(PageLockedAllocation const&) = delete;
};

// Throws what `result`, a failure, says of the caller's bytes.
void throw_not_registered(CUresult result, std::span<std::byte> bytes, std::string_view call) {
    std::string const what =
        fmt::format("{} bytes at {}", bytes.size(), static_cast<void*>(bytes.data()));
    if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        throw UsageError(call, what +
                                   ", of which some are registered already: cuMemHostRegister "
                                   "says CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED");
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        throw OutOfMemoryError(
            call, what + " to be page-locked: cuMemHostRegister says CUDA_ERROR_OUT_OF_MEMORY");
    }
    CudaDriver::get().check(result, "cuMemHostRegister");
}

// In the context that is current.
class RegisteredAllocation final : public HostAllocation {
   public:
    RegisteredAllocation(ContextPtr current, std::span<std::byte> bytes, std::string_view call)
        : HostAllocation(std::move(current)) {
        CUresult const result = CudaDriver::get().cuMemHostRegister(
            bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        if (result != CUDA_SUCCESS) throw_not_registered(result, bytes, call);
        host = bytes.data();
        size = bytes.size();
    }

    ~RegisteredAllocation() override {
        free_in(context(), [this] { CudaDriver::get().cuMemHostUnregister(host); });
    }
    RegisteredAllocation(RegisteredAllocation const&) = delete;
    RegisteredAllocation& operator=(RegisteredAllocation const&) = delete;
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

std::unique_ptr<Allocation> register_page_locked(ContextPtr const& context, Residents& residents,
                                                 std::span<std::byte> bytes,
                                                 std::shared_ptr<void const> owner,
                                                 std::string_view call) {
    ContextScope const scope(*context);
    auto allocation = std::make_unique<RegisteredAllocation>(context, bytes, call);
    allocation->owner = std::move(owner);
    CUresult const mapped = allocation->map();
    // Beside a kernel the driver would wait in letting go of it.
    if (mapped != CUDA_SUCCESS) residents.retire(std::move(allocation));
    CudaDriver::get().check(mapped, "cuMemHostGetDevicePointer");
    return allocation;
}

std::unique_ptr<Mapper> make_host_mapper() { return std::make_unique<HostMapper>(); }

}  // namespace carillon::detail
