// SPDX-License-Identifier: Apache-2.0
#include "ipc/cuda_ipc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <carillon/error.hpp>
#include <charconv>

namespace carillon::tool {
namespace {

constexpr unsigned lazy_peer_access = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

template <class... Arguments>
void call_driver(void* library, char const* name, Arguments... arguments) {
    void* const symbol = ::dlsym(library, name);
    if (symbol == nullptr) throw UnsupportedError(name, "the driver lacks it");
    int const result = reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...);
    if (result != 0) throw CudaError(name, result, fmt::format("CUresult {}", result));
}

}  // namespace

std::string to_hexadecimal(CudaIpcHandle const& handle) {
    std::string text;
    for (char const each : handle.bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(each));
    }
    return text;
}

CudaIpcHandle from_hexadecimal(std::string const& text) {
    CudaIpcHandle handle;
    bool right = text.size() == 2 * handle.bytes.size();
    for (std::size_t i = 0; right && i < handle.bytes.size(); ++i) {
        unsigned char byte = 0;
        char const* const at = text.data() + 2 * i;
        right = std::from_chars(at, at + 2, byte, 16).ptr == at + 2;
        handle.bytes.at(i) = static_cast<char>(byte);
    }
    if (!right) throw Error("ipc", "no handle of CUDA's: " + text);
    return handle;
}

CudaIpc::CudaIpc(DeviceInfo const& info)
    : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw UnsupportedError("dlopen(libcuda.so.1)", ::dlerror());
    int device = 0;
    void* context = nullptr;
    call_driver(library_, "cuInit", 0U);
    call_driver(library_, "cuDeviceGetByPCIBusId", &device, info.pci_bus_id.c_str());
    call_driver(library_, "cuDevicePrimaryCtxRetain", &context, device);
    call_driver(library_, "cuCtxSetCurrent", context);
}

CudaIpc::Address CudaIpc::allocate(std::size_t size) const {
    Address address = 0;
    call_driver(library_, "cuMemAlloc_v2", &address, size);
    return address;
}

void CudaIpc::free(Address address) const { call_driver(library_, "cuMemFree_v2", address); }

void CudaIpc::copy_to_device(Address to, std::span<std::byte const> from) const {
    void const* const bytes = from.data();
    call_driver(library_, "cuMemcpyHtoD_v2", to, bytes, from.size());
}

void CudaIpc::copy_to_host(std::span<std::byte> to, Address from) const {
    void* const bytes = to.data();
    call_driver(library_, "cuMemcpyDtoH_v2", bytes, from, to.size());
}

CudaIpcHandle CudaIpc::share(Address address) const {
    CudaIpcHandle handle;
    call_driver(library_, "cuIpcGetMemHandle", &handle, address);
    return handle;
}

CudaIpc::Address CudaIpc::open(CudaIpcHandle const& handle) const {
    Address address = 0;
    call_driver(library_, "cuIpcOpenMemHandle_v2", &address, handle, lazy_peer_access);
    return address;
}

void CudaIpc::close(Address address) const {
    call_driver(library_, "cuIpcCloseMemHandle", address);
}

}  // namespace carillon::tool
