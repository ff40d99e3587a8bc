// SPDX-License-Identifier: Apache-2.0
// vkgdr's calls over Device and Memory. What vkgdr asks of CUDA itself, and fails by, is asked
// here first, so that the same failures have the same texts.
#include "carillon/compat/vkgdr.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"

struct vkgdr {
    CUdevice device;
    carillon::DeviceOptions options;
};
struct vkgdr_memory {
    carillon::Memory memory;
};

namespace carillon::c {
namespace {

using CudaResult = int;
// Where it is asked before anything else: another is no context of the thread's.
constexpr CudaResult cuda_success = 0;

struct Failure {
    std::string text;
};

thread_local std::optional<std::string> last_vkgdr_error;

// What vkgdr calls of the CUDA driver, which stays loaded.
class CudaCalls {
   public:
    // Throws Failure with the loader's text where there is none.
    CudaCalls() : library_(load("libcuda.so.1")) {
        find("cuCtxGetDevice", context_device_);
        find("cuDeviceGetUuid", device_uuid_);
        find("cuGetErrorName", error_name_);
    }

    // The device of the thread's context. Throws Failure, for `call`.
    [[nodiscard]] CUdevice current_device(std::string_view call) const {
        CUdevice device = 0;
        require(call, context_device_(&device));
        return device;
    }
    [[nodiscard]] bool has_current(CUdevice device) const {
        CUdevice current = 0;
        return context_device_(&current) == cuda_success && current == device;
    }
    void require_device(CUdevice device) const {
        char uuid[16];
        require("cuDeviceGetUuid", device_uuid_(uuid, device));
    }

    // Throws Failure with the loader's text.
    static void* load(char const* name) {
        void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) throw Failure{::dlerror()};
        return library;
    }

   private:
    template <class Function>
    void find(char const* name, Function& function) const {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        if (function == nullptr) throw Failure{fmt::format("libcuda.so.1 has no {}", name)};
    }
    void require(std::string_view call, CudaResult result) const {
        if (result == cuda_success) return;
        char const* name = nullptr;
        if (error_name_(result, &name) != cuda_success || name == nullptr)
            throw Failure{fmt::format("{} failed (unknown CUDA error {})", call, result)};
        throw Failure{fmt::format("{} failed ({})", call, name)};
    }

    void* library_;
    CudaResult (*context_device_)(CUdevice*) = nullptr;
    CudaResult (*device_uuid_)(void*, CUdevice) = nullptr;
    CudaResult (*error_name_)(CudaResult, char const**) = nullptr;
};

// In the order in which vkgdr looks for libraries.
CudaCalls const& cuda_calls() {
    static CudaCalls const calls = [] {
        (void)CudaCalls::load("libvulkan.so.1");
        return CudaCalls();
    }();
    return calls;
}

// A VkResult as C calls it: vk::to_string() says "ErrorDeviceLost" of VK_ERROR_DEVICE_LOST.
std::string vk_name(std::string_view name) {
    std::string text = "VK";
    char before = 'a';
    for (char const c : name) {
        bool const upper = c >= 'A' && c <= 'Z';
        if (upper && before >= 'a' && before <= 'z') text += '_';
        text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        before = c;
    }
    return text;
}

// What `make` gives, or nullptr, and its error as vkgdr says it.
template <class Make>
auto kept(Make&& make) noexcept -> decltype(make()) {
    last_vkgdr_error.reset();
    try {
        return make();
    } catch (Failure const& failure) {
        last_vkgdr_error = failure.text;
    } catch (VulkanError const& error) {
        last_vkgdr_error = fmt::format("{} failed ({})", error.call(), vk_name(error.code_name()));
    } catch (CodedError const& error) {
        last_vkgdr_error = fmt::format("{} failed ({})", error.call(), error.code_name());
    } catch (OutOfMemoryError const&) {
        last_vkgdr_error = "vkAllocateMemory failed (VK_ERROR_OUT_OF_DEVICE_MEMORY)";
    } catch (std::exception const& error) {
        last_vkgdr_error = error.what();
    }
    return nullptr;
}

vkgdr* open_device(CUdevice device, std::uint32_t flags) {
    CudaCalls const& cuda = cuda_calls();
    if ((flags & VKGDR_OPEN_CURRENT_CONTEXT_BIT) != 0) {
        device = cuda.current_device("cuCtxGetDevice");
    }
    cuda.require_device(device);
    DeviceOptions options{.memory = DeviceMemory::mapped};
    options.force_non_coherent = (flags & VKGDR_OPEN_FORCE_NON_COHERENT_BIT) != 0;
    options.require_coherent = (flags & VKGDR_OPEN_REQUIRE_COHERENT_BIT) != 0;
    // Without a context there is nothing to open yet: vkgdr makes none.
    if (cuda.has_current(device)) (void)Device::open("current", options);
    return new vkgdr{device, options};
}

vkgdr_memory* allocate_vkgdr(vkgdr const* g, std::size_t size) {
    if (g == nullptr) throw Failure{"vkgdr_memory_alloc: the handle is a null pointer"};
    CUdevice const current = cuda_calls().current_device("cuImportExternalMemory");
    if (current != g->device) {
        throw Failure{
            fmt::format("vkgdr_memory_alloc: the current CUDA context is of device {}, "
                        "the handle of device {}",
                        current, g->device)};
    }
    return new vkgdr_memory{Device::open("current", g->options).allocate(size)};
}

}  // namespace
}  // namespace carillon::c

namespace c = carillon::c;

extern "C" {

char* vkgdr_last_error() {
    return c::last_vkgdr_error ? ::strdup(c::last_vkgdr_error->c_str()) : nullptr;
}

vkgdr_t vkgdr_open(CUdevice device, uint32_t flags) {
    return c::kept([&] { return c::open_device(device, flags); });
}
void vkgdr_close(vkgdr_t g) { delete g; }

vkgdr_memory_t vkgdr_memory_alloc(vkgdr_t g, size_t size, uint32_t /*flags*/) {
    return c::kept([&] { return c::allocate_vkgdr(g, size); });
}
void vkgdr_memory_free(vkgdr_memory_t mem) { delete mem; }

// NULL, too, in a child of fork(), where the memory is not mapped.
void* vkgdr_memory_get_host_ptr(vkgdr_memory_t mem) {
    try {
        return mem == nullptr ? nullptr : mem->memory.host_ptr();
    } catch (carillon::ForkError const&) {
        return nullptr;
    }
}
CUdeviceptr vkgdr_memory_get_device_ptr(vkgdr_memory_t mem) {
    return mem == nullptr ? 0 : reinterpret_cast<CUdeviceptr>(mem->memory.device_ptr());
}
size_t vkgdr_memory_get_size(vkgdr_memory_t mem) { return mem == nullptr ? 0 : mem->memory.size(); }
bool vkgdr_memory_is_coherent(vkgdr_memory_t mem) {
    return mem == nullptr || mem->memory.coherent();
}
size_t vkgdr_memory_non_coherent_atom_size(vkgdr_memory_t mem) {
    return vkgdr_memory_is_coherent(mem) ? 1 : mem->memory.atom_size();
}

// vkgdr's has no way to say that it failed, and neither has this one.
void vkgdr_memory_flush(vkgdr_memory_t mem, size_t offset, size_t size) {
    try {
        if (mem != nullptr) mem->memory.flush(offset, size);
    } catch (carillon::Error const&) {
    }
}
void vkgdr_memory_invalidate(vkgdr_memory_t mem, size_t offset, size_t size) {
    try {
        if (mem != nullptr) mem->memory.invalidate(offset, size);
    } catch (carillon::Error const&) {
    }
}

}  // extern "C"
