// SPDX-License-Identifier: Apache-2.0
// The rival that goes through the driver.
#include "copy_measures.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda_runtime_api.h>

namespace carillon::tool {
namespace {

void check(cudaError_t result, char const* call) {
    if (result != cudaSuccess) {
        throw CudaError(call, static_cast<int>(result), cudaGetErrorName(result));
    }
}

class DriverCopy final : public CopyMeasure {
   public:
    DriverCopy(CopyStage const& stage, CopyDirection direction)
        : CopyMeasure("cuda-memcpy", direction), stage_(stage) {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~DriverCopy() override { cudaStreamDestroy(stream_); }
    DriverCopy(DriverCopy const&) = delete;
    DriverCopy& operator=(DriverCopy const&) = delete;

    void run(std::size_t bytes, std::vector<std::uint32_t>& samples) override {
        bool const there = direction() == CopyDirection::to_device;
        void* const to = there ? stage_.there.device() : stage_.here.host();
        void const* const from = there ? stage_.here.host() : stage_.there.device();
        auto const kind = there ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        time_copies(samples, [&] {
            check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
            check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        });
    }

   private:
    CopyStage const& stage_;
    cudaStream_t stream_ = nullptr;
};

}  // namespace

std::vector<std::unique_ptr<CopyMeasure>> make_driver_copies(CopyStage const& stage) {
    std::vector<std::unique_ptr<CopyMeasure>> measures;
    if (stage.device.emulated()) return measures;
    int const ordinal = std::stoi(stage.device.info().selector.substr(sizeof("cuda:") - 1));
    check(cudaSetDevice(ordinal), "cudaSetDevice");
    measures.push_back(std::make_unique<DriverCopy>(stage, CopyDirection::to_device));
    measures.push_back(std::make_unique<DriverCopy>(stage, CopyDirection::to_host));
    return measures;
}

}  // namespace carillon::tool

#else

namespace carillon::tool {

std::vector<std::unique_ptr<CopyMeasure>> make_driver_copies(CopyStage const& /*stage*/) {
    return {};
}

}  // namespace carillon::tool

#endif
