// SPDX-License-Identifier: Apache-2.0
#include "measure/driver_copies.hpp"

#include <cstring>

#if CARILLON_DEVICE_CODE
#include "measure/driver_calls.hpp"
#endif

namespace carillon::tool {
namespace {

#if CARILLON_DEVICE_CODE
class CopiesOfCuda final : public DriverCopies {
   public:
    void to_device(void* device_address, void const* from, std::size_t bytes) override {
        copy(device_address, from, bytes, cudaMemcpyHostToDevice);
    }
    void to_host(void* to, void const* device_address, std::size_t bytes) override {
        copy(to, device_address, bytes, cudaMemcpyDeviceToHost);
    }

   private:
    void copy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) const {
        check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync");
        check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    }

    Stream stream_;
};
#endif

class CopiesInThisProcess final : public DriverCopies {
   public:
    void to_device(void* device_address, void const* from, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(device_address, from, bytes);
    }
    void to_host(void* to, void const* device_address, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(to, device_address, bytes);
    }
};

}  // namespace

std::unique_ptr<DriverCopies> open_driver_copies(Device const& device) {
    if (!device.traits().cuda) return std::make_unique<CopiesInThisProcess>();
#if CARILLON_DEVICE_CODE
    use_in_runtime(device.info());
    return std::make_unique<CopiesOfCuda>();
#else
    return nullptr;
#endif
}

}  // namespace carillon::tool
