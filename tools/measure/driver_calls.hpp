// SPDX-License-Identifier: Apache-2.0
// The parts that the alternatives through the driver share. For sources that nvcc compiles.
#pragma once

#include <cuda_runtime_api.h>

#include <carillon/device_info.hpp>
#include <carillon/error.hpp>

namespace carillon::tool {

// Throws CudaError, in the name of `call`.
inline void check(cudaError_t result, char const* call) {
    if (result != cudaSuccess) {
        throw CudaError(call, static_cast<int>(result), cudaGetErrorName(result));
    }
}

// Makes the CUDA runtime use that GPU on the calling thread.
inline void use_in_runtime(DeviceInfo const& info) {
    int ordinal = 0;
    check(cudaDeviceGetByPCIBusId(&ordinal, info.pci_bus_id.c_str()), "cudaDeviceGetByPCIBusId");
    check(cudaSetDevice(ordinal), "cudaSetDevice");
}

// A stream that waits for no other.
class Stream {
   public:
    Stream() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;
    [[nodiscard]] cudaStream_t get() const { return stream_; }

   private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace carillon::tool
