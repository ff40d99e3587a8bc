// SPDX-License-Identifier: Apache-2.0
// The alternative that goes through the driver.
#include "copy/copy_measures.hpp"
#include "measure/driver_copies.hpp"

namespace carillon::tool {
namespace {

class DriverCopy final : public CopyMeasure {
   public:
    DriverCopy(CopyStage const& stage, CopyDirection direction)
        : CopyMeasure("cuda-memcpy", direction),
          stage_(stage),
          driver_(open_driver_copies(stage.device)) {}

    void run(std::size_t bytes, Samples& samples) override {
        void* const here = stage_.here.host_ptr();
        void* const there = stage_.there.device_ptr();
        if (direction() == CopyDirection::to_device) {
            time_copies(samples, [&] { driver_->to_device(there, here, bytes); });
        } else {
            time_copies(samples, [&] { driver_->to_host(here, there, bytes); });
        }
    }

   private:
    CopyStage const& stage_;
    std::unique_ptr<DriverCopies> driver_;
};

}  // namespace

std::vector<std::unique_ptr<CopyMeasure>> make_driver_copies(CopyStage const& stage) {
    std::vector<std::unique_ptr<CopyMeasure>> measures;
    if (!stage.device.traits().cuda || open_driver_copies(stage.device) == nullptr) return measures;
    measures.push_back(std::make_unique<DriverCopy>(stage, CopyDirection::to_device));
    measures.push_back(std::make_unique<DriverCopy>(stage, CopyDirection::to_host));
    return measures;
}

}  // namespace carillon::tool
