// SPDX-License-Identifier: Apache-2.0
// Stands for the CUDA driver: memory of this process, threads of this CPU, and every entry point
// fails when it is due. Freeing memory beside a kernel ends the process, since the driver would
// wait.
#include "edges/failures/cuda_stand_in.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>

#include "carillon/detail/kernel/program.hpp"
#include "carillon/launch.hpp"
#include "cuda/cuda_driver.hpp"
#include "edges/failures/fault_points.hpp"
#include "edges/failures/stand_in_uuid.hpp"

struct CUstream_st {
    std::shared_ptr<std::atomic<unsigned>> running = std::make_shared<std::atomic<unsigned>>(0);
};
struct CUextMemory_st {
    int fd = -1;
    std::size_t size = 0;
};

namespace carillon::test {
namespace {

using RunBlock = std::function<void(unsigned)>;

std::mutex mutex;
std::map<CUdeviceptr, std::size_t> mappings;
std::set<void*> registered;  // where ranges begin
std::atomic<unsigned> running_blocks{0};
thread_local unsigned contexts = 0;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
// The body of the kernel that is launched next; its address is the kernel's handle. The body of a
// launch that waits is kept: that launch may return after its caller has stopped waiting.
std::deque<RunBlock> waiting;
std::atomic<RunBlock const*> to_launch = nullptr;
std::atomic<std::size_t> stack_limit{1024};
std::atomic<int> kernel_stack{512};  // of what is launched
std::atomic<int> module_stack{512};  // of the other kernels of its module
std::atomic<bool> launches_wait{false};
std::atomic<bool> context_destroyed{false};

constexpr std::size_t largest_stack = 65536;  // for which there is memory

detail::KnownKernel const only_kernel([]() -> void* {
    return const_cast<RunBlock*>(to_launch.load());
});

void launches(RunBlock const& run) {
    std::lock_guard const lock(mutex);
    to_launch = launches_wait ? &waiting.emplace_back(run) : &run;
}

template <class Handle>
Handle some_handle() {
    static char object;
    return reinterpret_cast<Handle>(&object);
}

CUresult failure_of(char const* call) {
    if (!is_due(FaultKind::cuda, call)) return CUDA_SUCCESS;
    return fails_for_want_of_memory() ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

// Returns an error if the call is to fail; stands before the call's effect.
#define CARILLON_FAIL_IF_DUE(call) \
    if (CUresult const failure = failure_of(#call); failure != CUDA_SUCCESS) return failure
// A call that ends or frees something takes effect even if it returns an error of earlier work.
#define CARILLON_DO_BUT_FAIL_IF_DUE(call) return failure_of(#call)

CUdeviceptr map_memory(int fd, std::size_t size) {
    void* const where = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (where == MAP_FAILED) std::abort();
    std::lock_guard const lock(mutex);
    mappings[reinterpret_cast<CUdeviceptr>(where)] = size;
    return reinterpret_cast<CUdeviceptr>(where);
}

CUdeviceptr new_memory(std::size_t size) {
    int const fd = ::memfd_create("carillon stand-in", 0);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
    CUdeviceptr const where = map_memory(fd, size);
    ::close(fd);
    return where;
}

void free_memory(CUdeviceptr where) {
    if (running_blocks != 0) std::abort();  // the driver would wait for them
    std::lock_guard const lock(mutex);
    auto const found = mappings.find(where);
    if (found == mappings.end()) std::abort();
    ::munmap(reinterpret_cast<void*>(where), found->second);
    mappings.erase(found);
}

namespace stand_in {

CUresult cuInit(unsigned) {
    CARILLON_FAIL_IF_DUE(cuInit);
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    CARILLON_FAIL_IF_DUE(cuDriverGetVersion);
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, char const** name) {
    *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    CARILLON_FAIL_IF_DUE(cuDeviceGetCount);
    *count = 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
    CARILLON_FAIL_IF_DUE(cuDeviceGet);
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    CARILLON_FAIL_IF_DUE(cuDeviceGetName);
    std::strncpy(name, "stand-in", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
    CARILLON_FAIL_IF_DUE(cuDeviceGetUuid);
    std::memcpy(uuid->bytes, stand_in_uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    CARILLON_FAIL_IF_DUE(cuDeviceGetAttribute);
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 4;
            break;
        case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
            *value = CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES;
            break;
        default:
            *value = 1;
    }
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int size, CUdevice) {
    CARILLON_FAIL_IF_DUE(cuDeviceGetPCIBusId);
    std::strncpy(id, "ffff:00:00.0", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    CARILLON_FAIL_IF_DUE(cuDevicePrimaryCtxRetain);
    *context = some_handle<CUcontext>();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    CARILLON_FAIL_IF_DUE(cuCtxGetCurrent);
    *context = some_handle<CUcontext>();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    CARILLON_FAIL_IF_DUE(cuCtxGetDevice);
    *device = 0;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext, unsigned long long* id) {
    if (context_destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CARILLON_FAIL_IF_DUE(cuCtxGetId);
    *id = 1;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit) {
    CARILLON_FAIL_IF_DUE(cuCtxGetLimit);
    *value = stack_limit;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit, std::size_t value) {
    if (running_blocks != 0) std::abort();  // the driver would wait for them
    CARILLON_FAIL_IF_DUE(cuCtxSetLimit);
    if (value > largest_stack) return CUDA_ERROR_OUT_OF_MEMORY;
    stack_limit = value;
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext) {
    if (context_destroyed) std::abort();  // the next call would crash
    CARILLON_FAIL_IF_DUE(cuCtxPushCurrent);
    ++contexts;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (contexts == 0) std::abort();
    --contexts;
    *context = some_handle<CUcontext>();
    CARILLON_DO_BUT_FAIL_IF_DUE(cuCtxPopCurrent);
}
CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                CUDA_EXTERNAL_MEMORY_HANDLE_DESC const* handle) {
    CARILLON_FAIL_IF_DUE(cuImportExternalMemory);
    InStandIn const here;
    *memory = new CUextMemory_st{handle->handle.fd, handle->size};
    return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* where, CUexternalMemory memory,
                                         CUDA_EXTERNAL_MEMORY_BUFFER_DESC const*) {
    CARILLON_FAIL_IF_DUE(cuExternalMemoryGetMappedBuffer);
    InStandIn const here;
    *where = map_memory(memory->fd, memory->size);
    return CUDA_SUCCESS;
}
CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
    ::close(memory->fd);
    delete memory;
    CARILLON_DO_BUT_FAIL_IF_DUE(cuDestroyExternalMemory);
}
CUresult cuMemAlloc(CUdeviceptr* where, std::size_t size) {
    CARILLON_FAIL_IF_DUE(cuMemAlloc);
    InStandIn const here;
    *where = new_memory(size);
    return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr where) {
    free_memory(where);
    CARILLON_DO_BUT_FAIL_IF_DUE(cuMemFree);
}
CUresult cuMemHostAlloc(void** where, std::size_t size, unsigned) {
    CARILLON_FAIL_IF_DUE(cuMemHostAlloc);
    InStandIn const here;
    *where = reinterpret_cast<void*>(new_memory(size));
    return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
    CARILLON_FAIL_IF_DUE(cuMemHostGetDevicePointer);
    *device = reinterpret_cast<CUdeviceptr>(host);
    return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* where) {
    free_memory(reinterpret_cast<CUdeviceptr>(where));
    CARILLON_DO_BUT_FAIL_IF_DUE(cuMemFreeHost);
}
CUresult cuMemHostRegister(void* where, std::size_t, unsigned) {
    CARILLON_FAIL_IF_DUE(cuMemHostRegister);
    InStandIn const here;
    std::lock_guard const lock(mutex);
    if (!registered.insert(where).second) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* where) {
    if (running_blocks != 0) std::abort();  // the driver would wait for them
    std::lock_guard const lock(mutex);
    if (registered.erase(where) == 0) std::abort();
    CARILLON_DO_BUT_FAIL_IF_DUE(cuMemHostUnregister);
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute, CUdeviceptr where) {
    CARILLON_FAIL_IF_DUE(cuPointerGetAttribute);
    std::lock_guard const lock(mutex);
    auto const after = mappings.upper_bound(where);
    if (after == mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    auto const& [begin, size] = *std::prev(after);
    if (where - begin >= size) return CUDA_ERROR_INVALID_VALUE;
    CUmemorytype const type = CU_MEMORYTYPE_DEVICE;
    std::memcpy(value, &type, sizeof(type));
    return CUDA_SUCCESS;
}
// The range is put where the file can be mapped from.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr where, std::size_t size,
                                       CUmemRangeHandleType, unsigned long long) {
    CARILLON_FAIL_IF_DUE(cuMemGetHandleForAddressRange);
    InStandIn const here;
    int const fd = ::memfd_create("carillon stand-in", 0);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
    ::mmap(reinterpret_cast<void*>(where), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
           0);
    std::memcpy(handle, &fd, sizeof(fd));
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
    CARILLON_FAIL_IF_DUE(cuStreamCreate);
    InStandIn const here;
    *stream = new CUstream_st;
    return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
    if (*stream->running != 0) std::abort();
    delete stream;
    CARILLON_DO_BUT_FAIL_IF_DUE(cuStreamDestroy);
}
CUresult cuStreamQuery(CUstream stream) {
    if (context_destroyed) std::abort();  // it would crash
    CARILLON_FAIL_IF_DUE(cuStreamQuery);
    return *stream->running != 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, CUstream stream, void**, void**) {
    CARILLON_FAIL_IF_DUE(cuLaunchKernel);
    InStandIn const here;
    auto const run = std::make_shared<RunBlock>(*reinterpret_cast<RunBlock const*>(function));
    bool const unforeseen = launches_wait.exchange(false);
    if (unforeseen || static_cast<std::size_t>(kernel_stack) > stack_limit) {
        while (running_blocks != 0) std::this_thread::yield();
    }
    *stream->running = blocks;
    running_blocks += blocks;
    for (unsigned block = 0; block < blocks; ++block) {
        std::thread([run, block, running = stream->running] {
            InStandIn const on_a_gpu;  // a block takes no memory of the host's
            (*run)(block);
            --running_blocks;
            --*running;
        }).detach();
    }
    return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (*mode != CU_STREAM_CAPTURE_MODE_RELAXED) {  // to what it was: nobody could do without
        std::swap(*mode, capture_mode);
        return CUDA_SUCCESS;
    }
    CARILLON_FAIL_IF_DUE(cuThreadExchangeStreamCaptureMode);
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction) {
    CARILLON_FAIL_IF_DUE(cuFuncGetModule);
    *module = some_handle<CUmodule>();
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction function) {
    CARILLON_FAIL_IF_DUE(cuFuncGetAttribute);
    *value = function == some_handle<CUfunction>() ? module_stack : kernel_stack;
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
    CARILLON_FAIL_IF_DUE(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    *blocks = 4;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    CARILLON_FAIL_IF_DUE(cuModuleGetLoadingMode);
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
// Machine code is not run here: handlers as text are no part of any scenario.
CUresult cuModuleLoadData(CUmodule* module, void const*) {
    CARILLON_FAIL_IF_DUE(cuModuleLoadData);
    *module = some_handle<CUmodule>();
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) {
    CARILLON_FAIL_IF_DUE(cuModuleUnload);
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, char const*) {
    CARILLON_FAIL_IF_DUE(cuModuleGetFunction);
    *function = some_handle<CUfunction>();
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule) {
    CARILLON_FAIL_IF_DUE(cuModuleGetFunctionCount);
    *count = 2;
    return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule) {
    CARILLON_FAIL_IF_DUE(cuModuleEnumerateFunctions);
    std::fill_n(functions, count, some_handle<CUfunction>());
    return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) {
    CARILLON_FAIL_IF_DUE(cuFuncLoad);
    return CUDA_SUCCESS;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
    CARILLON_FAIL_IF_DUE(cuFuncIsLoaded);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

}  // namespace stand_in

#define CARILLON_STRING(name) #name
#define CARILLON_SYMBOL(name) CARILLON_STRING(name)

void* find(char const* symbol) {
#define CARILLON_FIND(name)                                                      \
    static_assert(std::is_same_v<decltype(&stand_in::name), decltype(&::name)>); \
    if (std::strcmp(symbol, CARILLON_SYMBOL(name)) == 0) {                       \
        return reinterpret_cast<void*>(&stand_in::name);                         \
    }
    CARILLON_CUDA_FUNCTIONS(CARILLON_FIND)
    CARILLON_CUDA_OPTIONAL_FUNCTIONS(CARILLON_FIND)
#undef CARILLON_FIND
    return nullptr;
}

}  // namespace

void set_kernel_stack(int bytes) { kernel_stack = bytes; }
void set_module_stack(int bytes) { module_stack = bytes; }
void let_next_launch_wait() { launches_wait = true; }
std::size_t stand_in_stack_limit() { return stack_limit; }
void set_stand_in_stack_limit(std::size_t bytes) { stack_limit = bytes; }
void destroy_stand_in_context() { context_destroyed = true; }

void load_cuda_stand_in() {
    stand_in_for("libcuda.so.1", &find);
    also_held([]() -> long {  // with what this thread has set in the driver
        std::lock_guard const lock(mutex);
        return static_cast<long>(registered.size()) + contexts +
               (capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? 0 : 1);
    });
}

}  // namespace carillon::test

// The constructor that every launch calls: this compiler makes no device code, so the stand-in runs
// the body as the emulated device does.
#define CARILLON_RUNNING_KERNEL _ZN8carillon13RunningKernelC1ERKNS_6DeviceERKNS_6detail7ProgramEj
#define CARILLON_JOIN(a, b) a##b
#define CARILLON_NAME(prefix, name) CARILLON_JOIN(prefix, name)

extern "C" {

void CARILLON_NAME(__real_, CARILLON_RUNNING_KERNEL)(void* self, carillon::Device const& device,
                                                     carillon::detail::Program const& program,
                                                     unsigned blocks);
void CARILLON_NAME(__wrap_, CARILLON_RUNNING_KERNEL)(void* self, carillon::Device const& device,
                                                     carillon::detail::Program const& program,
                                                     unsigned blocks) {
    carillon::detail::Program own = program;
    carillon::test::launches(program.run_block);
    own.kernel = &carillon::test::only_kernel;
    CARILLON_NAME(__real_, CARILLON_RUNNING_KERNEL)(self, device, own, blocks);
}
}
