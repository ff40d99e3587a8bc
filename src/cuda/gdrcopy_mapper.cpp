// SPDX-License-Identifier: Apache-2.0
// gdrcopy's library, found at run time and called by its public names.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "carillon/detail/wire/config.hpp"
#include "cuda/cuda_buffer.hpp"
#include "cuda/mapper.hpp"

namespace carillon::detail {
namespace {

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

// The part of gdrcopy's interface that is used here; it is unchanged since version 2.0.
class GdrLibrary {
   public:
    GdrLibrary() {
        void* const library = ::dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL | own_names_first);
        if (library == nullptr) {
            throw UnsupportedError("dlopen(libgdrapi.so.2)", "gdrcopy's library is not installed");
        }
        find(library, "gdr_open", open_);
        find(library, "gdr_close", close_);
        find(library, "gdr_pin_buffer", pin);
        find(library, "gdr_unpin_buffer", unpin);
        find(library, "gdr_map", map);
        find(library, "gdr_unmap", unmap);
        session = open_();
        if (session == nullptr) {
            throw UnsupportedError("gdr_open", "gdrcopy's kernel module refuses this process");
        }
    }
    ~GdrLibrary() { close_(session); }
    GdrLibrary(GdrLibrary const&) = delete;
    GdrLibrary& operator=(GdrLibrary const&) = delete;

    // The library has a list of pinned memory without a lock of its own.
    mutable std::mutex mutex;
    void* session = nullptr;
    int (*pin)(void*, unsigned long, std::size_t, std::uint64_t, std::uint32_t,
               GdrHandle*) = nullptr;
    int (*unpin)(void*, GdrHandle) = nullptr;
    int (*map)(void*, GdrHandle, void**, std::size_t) = nullptr;
    int (*unmap)(void*, GdrHandle, void*, std::size_t) = nullptr;

    static void check(int error, char const* call) {
        if (error != 0) throw SystemError(call, error);
    }

   private:
    template <class Function>
    static void find(void* library, char const* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(library, name));
        if (function == nullptr) {
            throw UnsupportedError("dlsym", std::string("gdrcopy's library lacks ") + name);
        }
    }

    void* (*open_)() = nullptr;
    int (*close_)(void*) = nullptr;
};

// A pinned and mapped range of CUDA's memory, in whole pages.
class GdrMapping {
   public:
    GdrMapping(std::shared_ptr<GdrLibrary const> gdr, CUdeviceptr address, std::size_t size)
        : gdr_(std::move(gdr)), size_(size) {
        std::lock_guard const lock(gdr_->mutex);
        GdrLibrary::check(gdr_->pin(gdr_->session, address, size_, 0, 0, &handle_),
                          "gdr_pin_buffer");
        int const error = gdr_->map(gdr_->session, handle_, &host_, size_);
        if (error != 0) gdr_->unpin(gdr_->session, handle_);
        GdrLibrary::check(error, "gdr_map");
    }
    // In this order: the module has had faults when a mapping outlived its session.
    ~GdrMapping() {
        std::lock_guard const lock(gdr_->mutex);
        gdr_->unmap(gdr_->session, handle_, host_, size_);
        gdr_->unpin(gdr_->session, handle_);
    }
    GdrMapping(GdrMapping const&) = delete;
    GdrMapping& operator=(GdrMapping const&) = delete;

    [[nodiscard]] void* host() const { return host_; }

   private:
    std::shared_ptr<GdrLibrary const> gdr_;
    std::size_t size_;
    GdrHandle handle_{};
    void* host_ = nullptr;
};

class GdrAllocation : public Allocation {
   public:
    GdrAllocation(std::shared_ptr<GdrLibrary const> gdr, CUdeviceptr address, std::size_t bytes)
        : mapping_(std::move(gdr), address, CudaBuffer::whole_pages(bytes)) {
        host = mapping_.host();
        device = reinterpret_cast<void*>(address);
        size = bytes;
    }

    FileDescriptor export_fd() const override {
        throw UnsupportedError("memory mapped by gdrcopy has no descriptor");
    }

   private:
    GdrMapping mapping_;
};

// A base, so that the memory is freed after its mapping has gone.
struct OwnBuffer {
    CudaBuffer buffer;
};
class GdrBuffer final : private OwnBuffer, public GdrAllocation {
   public:
    GdrBuffer(std::shared_ptr<GdrLibrary const> gdr, ContextPtr const& context, std::size_t bytes)
        : OwnBuffer{CudaBuffer(context, bytes)},
          GdrAllocation(std::move(gdr), buffer.address(), bytes) {
        std::memset(host, 0, bytes);
    }
};

void require_device_file() {
    if (::access(device_file, R_OK | W_OK) != 0) throw SystemError(device_file, errno);
}

class GdrMapper final : public Mapper {
   public:
    void describe(DeviceInfo& info) const override { info.memory_source = MemorySource::gdrcopy; }
    std::unique_ptr<Allocation> allocate(ContextPtr const& context,
                                         std::size_t size) const override {
        return std::make_unique<GdrBuffer>(gdr_, context, size);
    }

   private:
    std::shared_ptr<GdrLibrary const> gdr_ = std::make_shared<GdrLibrary>();
};

}  // namespace

std::unique_ptr<Mapper> make_gdrcopy_mapper(ContextPtr const& /*context*/,
                                            DeviceOptions const& /*options*/) {
    require_device_file();
    return std::make_unique<GdrMapper>();
}

std::unique_ptr<Allocation> map_through_gdrcopy(CudaRange const& range) {
    require_device_file();
    // For all ranges, and never destroyed: static ranges may be mapped later.
    static auto& session = *new std::weak_ptr<GdrLibrary const>;
    static std::mutex mutex;
    std::lock_guard const lock(mutex);
    auto gdr = session.lock();
    if (gdr == nullptr) session = gdr = std::make_shared<GdrLibrary const>();
    return std::make_unique<GdrAllocation>(std::move(gdr), range.address, range.size);
}

}  // namespace carillon::detail
