// SPDX-License-Identifier: Apache-2.0
// GPU memory from CUDA, mapped into the CPU through its dma-buf or by gdrcopy.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "cuda/mapper.hpp"

namespace carillon::detail {
namespace {

// GPU memory from CUDA, in whole pages of the GPU, the unit that can be mapped into the CPU.
class CudaBuffer {
   public:
    CudaBuffer(ContextPtr context, std::size_t bytes) : context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        std::size_t const whole = whole_gpu_pages(bytes) + gpu_page;
        CUresult const result = cuda.cuMemAlloc(&allocated_, whole);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError(fmt::format(
                "{} bytes requested: cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY", whole));
        }
        cuda.check(result, "cuMemAlloc");
    }
    ~CudaBuffer() {
        free_in(*context_, [this] { CudaDriver::get().cuMemFree(allocated_); });
    }
    CudaBuffer& operator=(CudaBuffer&&) = delete;

    [[nodiscard]] CUdeviceptr address() const { return whole_gpu_pages(allocated_); }

   private:
    ContextPtr context_;
    CUdeviceptr allocated_ = 0;
};

// Memory of CUDA's in whole pages, which a Mapping maps.
template <class Mapping>
class MappedRange : public Allocation {
   public:
    explicit MappedRange(CudaRange const& range)
        : mapping_(*range.context, range.address, whole_gpu_pages(range.size)) {
        host = mapping_.host();
        // NOLINTBEGIN(cppcoreguidelines-prefer-member-initializer): they are the base's
        device = reinterpret_cast<void*>(range.address);
        size = range.size;
        // NOLINTEND(cppcoreguidelines-prefer-member-initializer)
    }
    FileDescriptor export_fd() const override { return mapping_.export_fd(); }

   private:
    Mapping mapping_;
};

// The buffer is a base, so that it is freed after its mapping has gone.
template <class Mapping>
class MappedBuffer final : private CudaBuffer, public MappedRange<Mapping> {
   public:
    MappedBuffer(ContextPtr const& context, std::size_t bytes)
        : CudaBuffer(context, bytes), MappedRange<Mapping>({context, address(), bytes}) {
        std::memset(this->host, 0, bytes);
    }
};

template <class Mapping>
class BufferMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override { info.memory_source = Mapping::source; }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        return std::make_unique<MappedBuffer<Mapping>>(context, size);
    }
    std::unique_ptr<Allocation> map(CudaRange const& range) const override {
        return std::make_unique<MappedRange<Mapping>>(range);
    }
};

class DmaBufMapping {
   public:
    static constexpr MemorySource source = MemorySource::dma_buf;

    DmaBufMapping(CudaContext const& context, CUdeviceptr address, std::size_t size)
        : size_(size),
          fd_(export_range(context, address, size)),
          host_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)) {
        if (host_ == MAP_FAILED) throw SystemError("mmap of a dma-buf", errno);
    }
    ~DmaBufMapping() { ::munmap(host_, size_); }
    DmaBufMapping& operator=(DmaBufMapping&&) = delete;

    [[nodiscard]] void* host() const { return host_; }
    [[nodiscard]] FileDescriptor export_fd() const { return fd_.duplicate(); }

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

constexpr char const* device_file = "/dev/gdrdrv";
// gdrcopy's library calls itself by its names. Without this option those calls could go to a
// library with the same names that the program is linked with. The address sanitizer refuses the
// option.
#if CARILLON_ADDRESS_SANITIZER
constexpr int own_names_first = 0;
#else
constexpr int own_names_first = RTLD_DEEPBIND;
#endif

struct GdrHandle {
    unsigned long number;
};

// The part of gdrcopy's interface that is used here, found at run time under its public names; it
// is unchanged since version 2.0.
struct GdrLibrary {
    // The library has a list of pinned memory without a lock of its own.
    mutable std::mutex mutex;
    void* session = nullptr;
    int (*pin)(void*, unsigned long, std::size_t, std::uint64_t, std::uint32_t,
               GdrHandle*) = nullptr;
    int (*unpin)(void*, GdrHandle) = nullptr;
    int (*map)(void*, GdrHandle, void**, std::size_t) = nullptr;
    int (*unmap)(void*, GdrHandle, void*, std::size_t) = nullptr;

    GdrLibrary() {
        if (::access(device_file, R_OK | W_OK) != 0) throw SystemError(device_file, errno);
        void* const library = ::dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL | own_names_first);
        if (library == nullptr) {
            throw UnsupportedError("dlopen(libgdrapi.so.2)", "gdrcopy's library is not installed");
        }
        void* (*open)() = nullptr;
        constexpr std::string_view missing = "gdrcopy's library lacks this function";
        find_function(library, "gdr_open", open, missing);
        find_function(library, "gdr_pin_buffer", pin, missing);
        find_function(library, "gdr_unpin_buffer", unpin, missing);
        find_function(library, "gdr_map", map, missing);
        find_function(library, "gdr_unmap", unmap, missing);
        session = open();
        if (session == nullptr) {
            throw UnsupportedError("gdr_open", "gdrcopy's kernel module refused this process");
        }
    }

    // The session stays open for good: the module has had faults when a mapping outlived it.
    static GdrLibrary const& get() {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
        static auto const& kept = *new GdrLibrary;
        return kept;
    }
    static void check(int error, char const* call) {
        if (error != 0) throw SystemError(call, error);
    }
};

class GdrMapping {
   public:
    static constexpr MemorySource source = MemorySource::gdrcopy;

    GdrMapping(CudaContext const& /*context*/, CUdeviceptr address, std::size_t size)
        : size_(size) {
        std::lock_guard const lock(gdr_.mutex);
        GdrLibrary::check(gdr_.pin(gdr_.session, address, size_, 0, 0, &handle_), "gdr_pin_buffer");
        int const error = gdr_.map(gdr_.session, handle_, &host_, size_);
        if (error != 0) gdr_.unpin(gdr_.session, handle_);
        GdrLibrary::check(error, "gdr_map");
    }
    ~GdrMapping() {
        std::lock_guard const lock(gdr_.mutex);
        gdr_.unmap(gdr_.session, handle_, host_, size_);
        gdr_.unpin(gdr_.session, handle_);
    }
    GdrMapping& operator=(GdrMapping&&) = delete;

    [[nodiscard]] void* host() const { return host_; }
    [[nodiscard]] static FileDescriptor export_fd() {
        throw UnsupportedError("memory mapped by gdrcopy has no file descriptor");
    }

   private:
    GdrLibrary const& gdr_ = GdrLibrary::get();
    std::size_t size_;
    GdrHandle handle_{};
    void* host_ = nullptr;
};

}  // namespace

std::unique_ptr<Mapper> make_dma_buf_mapper(ContextPtr const& context,
                                            DeviceOptions const& /*options*/) {
    if (CudaDriver::get().cuMemGetHandleForAddressRange == nullptr) {
        throw UnsupportedError("dlsym", "libcuda.so.1 has no cuMemGetHandleForAddressRange");
    }
    if (context->attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
        throw UnsupportedError("cuMemGetHandleForAddressRange",
                               "this driver cannot export this GPU's memory as a dma-buf");
    }
    return std::make_unique<BufferMapper<DmaBufMapping>>();
}

std::unique_ptr<Mapper> make_gdrcopy_mapper(ContextPtr const& /*context*/,
                                            DeviceOptions const& /*options*/) {
    (void)GdrLibrary::get();
    return std::make_unique<BufferMapper<GdrMapping>>();
}

}  // namespace carillon::detail
