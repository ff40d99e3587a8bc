// SPDX-License-Identifier: Apache-2.0
#include "cuda/context.hpp"

#include <fmt/format.h>

#include <cstring>

namespace carillon::detail {
namespace {

CUresult ask_for_id(CUcontext context, unsigned long long& id) noexcept {
    auto const& cuda = CudaDriver::get();
    id = reinterpret_cast<unsigned long long>(context);
    return cuda.cuCtxGetId == nullptr ? CUDA_SUCCESS : cuda.cuCtxGetId(context, &id);
}

}  // namespace

CudaContext::CudaContext(CUdevice device, CUcontext context, bool is_primary)
    : device_(device), context_(context), is_primary_(is_primary) {
    CudaDriver::get().check(ask_for_id(context, id_), "cuCtxGetId");
}

// The handle may be another context's by now.
bool CudaContext::destroyed() const noexcept {
    unsigned long long id = 0;
    CUresult const result = ask_for_id(context_, id);
    return CudaDriver::says_destroyed(result) || (result == CUDA_SUCCESS && id != id_);
}

std::shared_ptr<CudaContext> CudaContext::primary(CUdevice device) {
    auto const& cuda = CudaDriver::get();
    CUcontext context = nullptr;
    cuda.check(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    return std::make_shared<CudaContext>(device, context, true);
}

std::shared_ptr<CudaContext> CudaContext::current() {
    auto const& cuda = CudaDriver::get();
    CUcontext context = nullptr;
    cuda.check(cuda.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    if (context == nullptr) {
        throw UsageError(
            "this thread has no current CUDA context: call cudaSetDevice or cuCtxSetCurrent first");
    }
    CUdevice device = 0;
    cuda.check(cuda.cuCtxGetDevice(&device), "cuCtxGetDevice");
    return std::make_shared<CudaContext>(device, context);
}

int CudaContext::attribute(CUdevice_attribute attribute) const {
    auto const& cuda = CudaDriver::get();
    int value = 0;
    cuda.check(cuda.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
    return value;
}

Uuid CudaContext::uuid_of(CUdevice device) {
    auto const& cuda = CudaDriver::get();
    CUuuid raw;
    cuda.check(cuda.cuDeviceGetUuid(&raw, device), "cuDeviceGetUuid");
    Uuid uuid;
    std::memcpy(uuid.data(), raw.bytes, uuid.size());
    return uuid;
}

ContextScope::ContextScope(CudaContext const& context) {
    auto const& cuda = CudaDriver::get();
    if (context.destroyed()) {
        throw CudaError("cuCtxPushCurrent", CUDA_ERROR_CONTEXT_IS_DESTROYED,
                        "CUDA_ERROR_CONTEXT_IS_DESTROYED: the CUDA context of this device has been "
                        "destroyed or reset; open the device again");
    }
    cuda.check(cuda.cuCtxPushCurrent(context.get()), "cuCtxPushCurrent");
}

ContextScope::~ContextScope() {
    CUcontext popped = nullptr;
    CudaDriver::get().cuCtxPopCurrent(&popped);
}

std::string uuid_text(Uuid const& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", uuid.at(i));
    }
    return text;
}

}  // namespace carillon::detail
