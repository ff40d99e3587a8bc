// SPDX-License-Identifier: Apache-2.0
// A call to a kernel that was put where it is fast, from the core that is best for it.
#include <algorithm>
#include <carillon/carillon.hpp>
#include <carillon/placement.hpp>
#include <optional>

#include "carillon/cores.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

class TunedCallMeasure final : public Measure {
   public:
    explicit TunedCallMeasure(RttStage stage)
        : stage_(std::move(stage)),
          profile_(std::make_shared<PlacementProfile>(tune(stage_.device))) {}

    int sm() const override { return sm_; }

    void run(std::uint32_t count, Samples& samples) override {
        constexpr std::uint32_t slots_of_a_page = 64;
        KernelOptions options;
        options.capacity = std::min(stage_.memory->capacity(), slots_of_a_page);
        options.lifetime = std::chrono::nanoseconds(stage_.bound.ns);
        options.wait = stage_.wait.style();
        options.channels = {.placement = Placement::tuned, .profile = profile_};
        // The core decides which page is fast, so the choice is made from that core. Blocks that
        // are threads would inherit its affinity.
        std::optional<OnCore> here;
        if (!profile_->cores.empty() && !stage_.device.traits().shares_processors) {
            here.emplace(profile_->cores.front().id);
        }
        PersistentKernel<Reprice> kernel(stage_.device, options);
        sm_ = static_cast<int>(kernel.sm());
        time_calls(count, samples, kernel.channel());
        kernel.stop();
    }

   private:
    void time_calls(std::uint32_t count, Samples& samples, Channel<Tick, Quote>& channel) const {
        Tick tick{4810.00, 4810.25, 0, 17, 0, 22, 28};
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            tick.order = i;
            Quote const quote = channel.call(tick, round_trip_limit);
            if (quote.order != i) throw UsageError("rtt", "a quote for another order came back");
        });
    }

    RttStage stage_;
    std::shared_ptr<PlacementProfile> profile_;
    int sm_ = -1;
};

}  // namespace

// The measure looks for good places first. In host memory there is no choice of pages.
std::unique_ptr<Measure> make_call_tuned(RttStage const& stage) {
    if (stage.device.info().memory_source == MemorySource::host) return nullptr;
    return std::make_unique<TunedCallMeasure>(stage);
}

}  // namespace carillon::tool
