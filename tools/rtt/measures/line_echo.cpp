// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>

#include "measure/line_rig.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

class LineMeasure final : public Measure {
   public:
    explicit LineMeasure(RttStage stage) : stage_(std::move(stage)) {}

    int sm() const override { return sm_; }

    void run(std::uint32_t count, Samples& samples) override {
        LineRig rig(stage_.device, stage_.warm_up + count,
                    {.capacity = stage_.memory->capacity(), .wait = stage_.wait.style()});
        sm_ = rig.sm();
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) { rig.trip(i); });
        rig.await_end();
    }

   private:
    RttStage stage_;
    int sm_ = -1;
};

}  // namespace

std::unique_ptr<Measure> make_line_echo(RttStage const& stage) {
    return std::make_unique<LineMeasure>(stage);
}

}  // namespace carillon::tool
