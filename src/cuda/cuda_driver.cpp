// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_driver.hpp"

#include <sys/single_threaded.h>

#include <cstdlib>

#include "carillon/detail/host/thread.hpp"

namespace carillon::detail {
namespace {

// cuda.h maps names to their newest versions by macros (cuMemFree is cuMemFree_v2); the symbol must
// be looked up under the same version.
#define CARILLON_STRING(name) #name
#define CARILLON_SYMBOL(name) CARILLON_STRING(name)

// With lazy loading the first launch of any other kernel would wait until a persistent one ends.
// The driver reads this variable only when it is initialised. Setting it then would be too late:
// other threads may be reading the environment, which moves. So it is set before main(), before
// static objects open a device, and not at all if this library is loaded into a program with
// threads.
__attribute__((constructor(101))) void ask_for_eager_loading() {
    if (__libc_single_threaded != 0) ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

CudaDriver load() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw DeviceNotFoundError("dlopen(libcuda.so.1)", "no CUDA driver is installed");
    }
    CudaDriver driver;
#define CARILLON_OPTIONAL(name) \
    driver.name = reinterpret_cast<decltype(driver.name)>(::dlsym(library, CARILLON_SYMBOL(name)));
#define CARILLON_REQUIRED(name)                                \
    find_function(library, CARILLON_SYMBOL(name), driver.name, \
                  "the CUDA driver lacks this function");
    CARILLON_CUDA_FUNCTIONS(CARILLON_REQUIRED)
    CARILLON_CUDA_OPTIONAL_FUNCTIONS(CARILLON_OPTIONAL)
#undef CARILLON_REQUIRED
#undef CARILLON_OPTIONAL
    CUresult const result = driver.cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE) {
        throw DeviceNotFoundError("cuInit", "the CUDA driver sees no GPU");
    }
    driver.check(result, "cuInit");
    return driver;
}

// The errors of which cuda.h says that "the process must be terminated and relaunched".
bool breaks_the_context(CUresult result) {
    switch (result) {
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_ECC_UNCORRECTABLE:
            return true;
        default:
            return false;
    }
}

}  // namespace

CudaDriver const& CudaDriver::get() {
    // A thread of the program may have less stack than the driver needs to begin.
    static CudaDriver const driver = on_own_thread("carillon-open", load);
    return driver;
}

bool CudaDriver::loads_lazily() const {
    CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
    if (cuModuleGetLoadingMode != nullptr) {
        check(cuModuleGetLoadingMode(&mode), "cuModuleGetLoadingMode");
    }
    return mode == CU_MODULE_LAZY_LOADING;
}

bool CudaDriver::says_destroyed(CUresult result) {
    return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
           result == CUDA_ERROR_INVALID_CONTEXT;
}

bool CudaDriver::says_ended(CUresult result) {
    return result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_HANDLE ||
           says_destroyed(result) || breaks_the_context(result);
}

void CudaDriver::check(CUresult result, std::string_view call) const {
    if (result == CUDA_SUCCESS) return;
    char const* name = nullptr;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown CUDA error";
    if (breaks_the_context(result)) throw DeviceFaultError(call, static_cast<int>(result), name);
    throw CudaError(call, static_cast<int>(result), name);
}

}  // namespace carillon::detail
