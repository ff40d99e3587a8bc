// SPDX-License-Identifier: Apache-2.0
// GPU memory that processes share by CUDA's own means: the alternative to a store of buffers. The
// driver is found at run time, and its few functions are declared here.
#pragma once

#include <array>
#include <carillon/device_info.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace carillon::tool {

// A CUipcMemHandle.
struct CudaIpcHandle {
    std::array<char, 64> bytes{};
};
[[nodiscard]] std::string to_hexadecimal(CudaIpcHandle const& handle);
// Throws Error if the text is no handle.
[[nodiscard]] CudaIpcHandle from_hexadecimal(std::string const& text);

// Calls of the CUDA driver on one GPU, in its primary context. All throw CudaError.
class CudaIpc {
   public:
    using Address = unsigned long long;  // a CUdeviceptr

    // Throws UnsupportedError where there is no driver, or one that lacks a function.
    explicit CudaIpc(DeviceInfo const& info);

    [[nodiscard]] Address allocate(std::size_t size) const;
    void free(Address address) const;
    void copy_to_device(Address to, std::span<std::byte const> from) const;
    void copy_to_host(std::span<std::byte> to, Address from) const;
    [[nodiscard]] CudaIpcHandle share(Address address) const;
    [[nodiscard]] Address open(CudaIpcHandle const& handle) const;
    void close(Address address) const;

   private:
    void* library_;
};

}  // namespace carillon::tool
