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
            "page-locked host memory of a GPU has no file descriptor, unless "
            "it came of Device::allocate_shared_host");
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

// Throws the error for a failure `result` with the caller's bytes.
void throw_not_registered(CUresult result, std::span<std::byte> bytes) {
    std::string const what =
        fmt::format("{} bytes at {}", bytes.size(), static_cast<void*>(bytes.data()));
    if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        throw UsageError(what +
                         ", of which some are registered already: cuMemHostRegister "
                         "says CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED");
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        throw OutOfMemoryError(
            what + " to be page-locked: cuMemHostRegister says CUDA_ERROR_OUT_OF_MEMORY");
    }
    CudaDriver::get().check(result, "cuMemHostRegister");
}

// Registers in the current context.
void register_bytes(std::span<std::byte> bytes) {
    CUresult const result = CudaDriver::get().cuMemHostRegister(
        bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) throw_not_registered(result, bytes);
}

// False if the context has gone, and may not have unregistered them.
bool unregister_bytes(CudaContext const& context, void* where) noexcept {
    return free_in(context, [where] { CudaDriver::get().cuMemHostUnregister(where); });
}

class RegisteredAllocation final : public HostAllocation {
   public:
    RegisteredAllocation(ContextPtr current, std::span<std::byte> bytes)
        : HostAllocation(std::move(current)) {
        register_bytes(bytes);
        host = bytes.data();
        size = bytes.size();
    }

    ~RegisteredAllocation() override { unregister_bytes(context(), host); }
    RegisteredAllocation(RegisteredAllocation const&) = delete;
    RegisteredAllocation& operator=(RegisteredAllocation const&) = delete;
};

// Uses the process's own pages, which outlive a context of the program: memory that CUDA allocates
// is unmapped when its context is destroyed, and the CPU would fault when it reads a kernel's
// words. It is not used in the primary context: with these pages a GPU that polls many rings was
// slower (`call-64-rings`, bench/results/trust-rtt.json).
class OwnPagesAllocation final : public HostAllocation {
   public:
    OwnPagesAllocation(ContextPtr current, std::size_t bytes)
        : HostAllocation(std::move(current)), pages_(std::make_shared<SharedMapping>(bytes)) {
        host = pages_->get();
        size = bytes;
        register_bytes({static_cast<std::byte*>(host), size});
        CUresult const mapped = map();
        if (mapped != CUDA_SUCCESS) unregister_bytes(context(), host);
        CudaDriver::get().check(mapped, "cuMemHostGetDevicePointer");
    }

    // See SharedAllocation's destructor.
    ~OwnPagesAllocation() override {
        if (!unregister_bytes(context(), host)) keep_forever(std::move(pages_));
    }
    OwnPagesAllocation(OwnPagesAllocation const&) = delete;
    OwnPagesAllocation& operator=(OwnPagesAllocation const&) = delete;

   private:
    std::shared_ptr<SharedMapping> pages_;
};

class SharedAllocation final : public HostAllocation {
   public:
    SharedAllocation(ContextPtr current, std::size_t bytes)
        : HostAllocation(std::move(current)), memory_(std::make_shared<SharedMemory>(bytes)) {
        register_bytes(memory_->bytes());
        host = memory_->bytes().data();
        size = bytes;
    }

    // The pages go after their registration. If that may remain, so do they: an address that is
    // mapped anew could not be registered.
    ~SharedAllocation() override {
        if (!unregister_bytes(context(), host)) keep_forever(std::move(memory_));
    }
    SharedAllocation(SharedAllocation const&) = delete;
    SharedAllocation& operator=(SharedAllocation const&) = delete;

    FileDescriptor export_fd() const override { return memory_->duplicate(); }

   private:
    std::shared_ptr<SharedMemory> memory_;
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

class HostMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override {
        info.memory_source = MemorySource::host;
        // The CPU's stores to its own memory become visible in order, to devices as well.
        info.data_order = DataOrder::fence;
    }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        return allocate_page_locked(context, size);
    }
};

}  // namespace

std::unique_ptr<Allocation> allocate_page_locked(ContextPtr const& context, std::size_t size) {
    require_machine_memory(size);
    if (context->is_primary()) return std::make_unique<PageLockedAllocation>(context, size);
    ContextScope const scope(*context);
    return std::make_unique<OwnPagesAllocation>(context, size);
}

std::unique_ptr<Allocation> allocate_shared_page_locked(ContextPtr const& context,
                                                        Residents& residents, std::size_t size) {
    require_machine_memory(size);
    ContextScope const scope(*context);
    return mapped(std::make_unique<SharedAllocation>(context, size), residents);
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
