// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API, found at run time: building needs only cuda.h, and a program starts on a
// machine without a driver.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

// The driver's functions that the library calls, under the names used here.
#define CARILLON_CUDA_FUNCTIONS(X)       \
    X(cuInit)                            \
    X(cuDriverGetVersion)                \
    X(cuGetErrorName)                    \
    X(cuDeviceGetCount)                  \
    X(cuDeviceGet)                       \
    X(cuDeviceGetName)                   \
    X(cuDeviceGetUuid)                   \
    X(cuDeviceGetAttribute)              \
    X(cuDeviceGetPCIBusId)               \
    X(cuDevicePrimaryCtxRetain)          \
    X(cuCtxGetCurrent)                   \
    X(cuCtxGetDevice)                    \
    X(cuCtxPushCurrent)                  \
    X(cuCtxPopCurrent)                   \
    X(cuCtxGetLimit)                     \
    X(cuCtxSetLimit)                     \
    X(cuImportExternalMemory)            \
    X(cuExternalMemoryGetMappedBuffer)   \
    X(cuDestroyExternalMemory)           \
    X(cuMemAlloc)                        \
    X(cuMemFree)                         \
    X(cuMemHostAlloc)                    \
    X(cuMemHostGetDevicePointer)         \
    X(cuMemFreeHost)                     \
    X(cuMemHostRegister)                 \
    X(cuMemHostUnregister)               \
    X(cuPointerGetAttribute)             \
    X(cuStreamCreate)                    \
    X(cuStreamDestroy)                   \
    X(cuStreamQuery)                     \
    X(cuLaunchKernel)                    \
    X(cuThreadExchangeStreamCaptureMode) \
    X(cuFuncGetModule)                   \
    X(cuFuncGetAttribute)                \
    X(cuModuleLoadData)                  \
    X(cuModuleUnload)                    \
    X(cuModuleGetFunction)               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)

// Functions that drivers before 12.4 lack; null there.
#define CARILLON_CUDA_OPTIONAL_FUNCTIONS(X) \
    X(cuModuleGetLoadingMode)               \
    X(cuModuleGetFunctionCount)             \
    X(cuModuleEnumerateFunctions)           \
    X(cuFuncLoad)                           \
    X(cuFuncIsLoaded)                       \
    X(cuCtxGetId)                           \
    X(cuMemGetHandleForAddressRange)

// Finds a function of a loaded library. Throws UnsupportedError with the cause `missing`.
template <class Function>
void find_function(void* library, char const* name, Function& function, std::string_view missing) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) throw UnsupportedError(fmt::format("dlsym({})", name), missing);
}

struct CudaDriver {
#define CARILLON_MEMBER(name) decltype(&::name) name = nullptr;
    CARILLON_CUDA_FUNCTIONS(CARILLON_MEMBER)
    CARILLON_CUDA_OPTIONAL_FUNCTIONS(CARILLON_MEMBER)
#undef CARILLON_MEMBER

    ProcessMark mark;  // CUDA does not work in a child of the process that initialised it

    // Loads and initialises the driver once, with eager module loading unless the environment says
    // otherwise, or must not be changed (cuda_driver.cpp says when). Throws DeviceNotFoundError (no
    // driver, or no GPU), UnsupportedError (a driver that lacks a function), CudaError.
    static CudaDriver const& get();

    // Whether modules are loaded on first use. Throws CudaError.
    [[nodiscard]] bool loads_lazily() const;
    // Whether the result of a stream's query says that nothing runs there any more: all is done, a
    // fault has broken the context, or it has gone. Other results leave that open.
    [[nodiscard]] static bool says_ended(CUresult result);
    // Whether the driver gives this result for a context that is gone.
    [[nodiscard]] static bool says_destroyed(CUresult result);
    // Throws CudaError unless `result` is CUDA_SUCCESS.
    void check(CUresult result, std::string_view call) const;
};

}  // namespace carillon::detail
