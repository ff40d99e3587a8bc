// SPDX-License-Identifier: Apache-2.0
#include "vkgdr_device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "carillon/error.hpp"

namespace carillon::compat {
namespace {

using CudaResult = int;
// Any other result of cuCtxGetDevice means that the thread has no context.
constexpr CudaResult cuda_success = 0;

// The calls of the CUDA driver that vkgdr makes. The driver stays loaded.
class CudaCalls {
   public:
    CudaCalls() : library_(load("libcuda.so.1")) {
        find("cuCtxGetDevice", context_device_);
        find("cuDeviceGetUuid", device_uuid_);
        find("cuGetErrorName", error_name_);
    }

    // The device of the thread's context. Throws CudaError, of `call`.
    [[nodiscard]] int current_device(std::string_view call) const {
        int device = 0;
        require(call, context_device_(&device));
        return device;
    }
    [[nodiscard]] bool has_current(int device) const {
        int current = 0;
        return context_device_(&current) == cuda_success && current == device;
    }
    void require_device(int device) const {
        char uuid[16];
        require("cuDeviceGetUuid", device_uuid_(uuid, device));
    }

    static void* load(char const* name) {
        void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) throw DeviceNotFoundError("dlopen", ::dlerror());
        return library;
    }

   private:
    template <class Function>
    void find(char const* name, Function& function) const {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        if (function == nullptr)
            throw DeviceNotFoundError("dlsym", fmt::format("libcuda.so.1 lacks {}", name));
    }
    void require(std::string_view call, CudaResult result) const {
        if (result == cuda_success) return;
        char const* name = nullptr;
        if (error_name_(result, &name) != cuda_success || name == nullptr)
            throw CudaError(call, result, fmt::format("unknown CUDA error {}", result));
        throw CudaError(call, result, name);
    }

    void* library_;
    CudaResult (*context_device_)(int*) = nullptr;
    CudaResult (*device_uuid_)(void*, int) = nullptr;
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

}  // namespace

VkgdrDevice::VkgdrDevice(int device, DeviceOptions const& options)
    : device_(device), options_(options) {
    CudaCalls const& cuda = cuda_calls();
    cuda.require_device(device);
    options_.memory = DeviceMemory::mapped;
    // Without a context there is nothing to open yet: vkgdr makes none.
    if (cuda.has_current(device)) (void)in_current_context();
}

VkgdrDevice VkgdrDevice::of_current_context(DeviceOptions const& options) {
    return {cuda_calls().current_device("cuCtxGetDevice"), options};
}

Device VkgdrDevice::in_current_context() const {
    int const current = cuda_calls().current_device("cuImportExternalMemory");
    if (current != device_) {
        throw UsageError(
            "vkgdr_memory_alloc",
            fmt::format(
                "the current CUDA context is for device {}, but the handle is for device {}",
                current, device_));
    }
    return Device::open("current", options_);
}

}  // namespace carillon::compat
