// SPDX-License-Identifier: Apache-2.0
// The rival that goes through the driver.
#include "copy/measures.hpp"

#if CARILLON_DEVICE_CODE
#include "measure/driver_calls.hpp"

namespace carillon::tool {
namespace {

class DriverCopy final : public CopyMeasure {
   public:
    DriverCopy(CopyStage const& stage, CopyDirection direction)
        : CopyMeasure("cuda-memcpy", direction), stage_(stage) {}

    void run(std::size_t bytes, Samples& samples) override {
        bool const there = direction() == CopyDirection::to_device;
        void* const to = there ? stage_.there.device_ptr() : stage_.here.host_ptr();
        void const* const from = there ? stage_.here.host_ptr() : stage_.there.device_ptr();
        auto const kind = there ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        time_copies(samples, [&] {
            check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync");
            check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        });
    }

   private:
    CopyStage const& stage_;
    Stream stream_;
};

}  // namespace

std::vector<std::unique_ptr<CopyMeasure>> make_driver_copies(CopyStage const& stage) {
    std::vector<std::unique_ptr<CopyMeasure>> measures;
    if (!stage.device.traits().cuda) return measures;
    use_in_runtime(stage.device.info());
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
