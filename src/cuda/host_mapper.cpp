// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "carillon/error.hpp"
#include "cuda/mapper.hpp"
#include "error/sizes.hpp"
#include "os/exit_hook.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {
namespace {

// Page-locked memory, of the library or of the caller.
class HostAllocation : public Allocation {
   public:
    explicit HostAllocation(ContextPtr context) : context_(std::move(context)) {}

    // Sets the device's address.
    [[nodiscard]] CUresult map() {
        CUdeviceptr pointer = 0;
        CUresult const result = CudaDriver::get().cuMemHostGetDevicePointer(&pointer, host, 0);
        device = reinterpret_cast<void*>(pointer);
        return result;
    }

    FileDescriptor export_fd() const override {
        throw UnsupportedError(
            "pinned host memory has a file descriptor only if it was allocated for that: by "
            "Device::allocate_shared_host (C++) or as CARILLON_MEMORY_SHARED_HOST (C)");
    }

   protected:
    [[nodiscard]] CudaContext const& context() const { return *context_; }

   private:
    ContextPtr context_;
};

class PageLockedAllocation final : public HostAllocation {
   public:
    PageLockedAllocation(ContextPtr in, std::size_t bytes) : HostAllocation(std::move(in)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(context());
        CUresult const result =
            cuda.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError(
                fmt::format("{} bytes of pinned memory requested: cuMemHostAlloc returned "
                            "CUDA_ERROR_OUT_OF_MEMORY",
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
    PageLockedAllocation& operator=(PageLockedAllocation&&) = delete;
};

// Throws the error for a failure `result` with the caller's bytes.
void throw_not_registered(CUresult result, std::span<std::byte> bytes) {
    std::string const what =
        fmt::format("{} bytes at {}", bytes.size(), static_cast<void*>(bytes.data()));
    if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        throw UsageError("some of the " + what +
                         " are registered already: cuMemHostRegister returned "
                         "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED");
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        throw OutOfMemoryError(
            what + " could not be pinned: cuMemHostRegister returned CUDA_ERROR_OUT_OF_MEMORY");
    }
    CudaDriver::get().check(result, "cuMemHostRegister");
}

// Registered bytes: the caller's, or `pages` of the process. The pages go after their registration.
// If that may remain, so do they: an address that is mapped anew could not be registered.
class RegisteredAllocation : public HostAllocation {
   public:
    RegisteredAllocation(ContextPtr current, std::span<std::byte> bytes,
                         std::shared_ptr<void> pages = nullptr)
        : HostAllocation(std::move(current)), pages_(std::move(pages)) {
        CUresult const result = CudaDriver::get().cuMemHostRegister(
            bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        if (result != CUDA_SUCCESS) throw_not_registered(result, bytes);
        host = bytes.data();
        size = bytes.size();
    }
    ~RegisteredAllocation() override {
        bool const unregistered =
            free_in(context(), [this] { CudaDriver::get().cuMemHostUnregister(host); });
        if (!unregistered && pages_) keep_forever(std::move(pages_));
    }
    RegisteredAllocation& operator=(RegisteredAllocation&&) = delete;

   private:
    std::shared_ptr<void> pages_;
};

class SharedAllocation final : public RegisteredAllocation {
   public:
    SharedAllocation(ContextPtr current, std::shared_ptr<SharedMemory> const& memory)
        : RegisteredAllocation(std::move(current), memory->bytes(), memory), memory_(*memory) {}

    FileDescriptor export_fd() const override { return memory_.duplicate(); }

   private:
    SharedMemory const& memory_;
};

// The registered allocation, with its address on the device.
std::unique_ptr<Allocation> mapped(std::unique_ptr<HostAllocation> allocation,
                                   Residents& residents) {
    CUresult const result = allocation->map();
    // While a kernel lives the driver would wait when it frees it.
    if (result != CUDA_SUCCESS) residents.retire(std::move(allocation));
    CudaDriver::get().check(result, "cuMemHostGetDevicePointer");
    return allocation;
}

// Uses the process's own pages, which outlive a context of the program: memory that CUDA allocates
// is unmapped when its context is destroyed, and the CPU would fault when it reads a kernel's
// words. It is not used in the primary context: with these pages a GPU that polls many rings was
// slower (`call-64-rings`, bench/results/trust-rtt.json).
std::unique_ptr<Allocation> allocate_own_pages(ContextPtr const& context, std::size_t size) {
    ContextScope const scope(*context);
    auto pages = std::make_shared<SharedMapping>(size);
    std::span const bytes(static_cast<std::byte*>(pages->get()), size);
    auto allocation = std::make_unique<RegisteredAllocation>(context, bytes, std::move(pages));
    CudaDriver::get().check(allocation->map(), "cuMemHostGetDevicePointer");
    return allocation;
}

class HostMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override {
        info.memory_source = MemorySource::host;
        // The CPU's stores to its own memory become visible in order, to devices as well.
        info.data_order = DataOrder::fence;
    }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        require_machine_memory(size);
        if (context->is_primary()) return std::make_unique<PageLockedAllocation>(context, size);
        return allocate_own_pages(context, size);
    }
};

}  // namespace

std::unique_ptr<Allocation> allocate_shared_page_locked(ContextPtr const& context,
                                                        Residents& residents, std::size_t size) {
    require_machine_memory(size);
    ContextScope const scope(*context);
    auto const memory = std::make_shared<SharedMemory>(size);
    return mapped(std::make_unique<SharedAllocation>(context, memory), residents);
}

std::unique_ptr<Allocation> register_page_locked(ContextPtr const& context, Residents& residents,
                                                 std::span<std::byte> bytes,
                                                 std::shared_ptr<void const> owner) {
    ContextScope const scope(*context);
    auto allocation = std::make_unique<RegisteredAllocation>(context, bytes);
    allocation->owner = std::move(owner);
    return mapped(std::move(allocation), residents);
}

std::unique_ptr<Mapper> make_host_mapper() { return std::make_unique<HostMapper>(); }

}  // namespace carillon::detail
