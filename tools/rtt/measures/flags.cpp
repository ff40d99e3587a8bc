// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <carillon/carillon.hpp>

#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

// A flag each way. The request's flag is in device memory (raw) or in host memory (pinned).
class FlagMeasure final : public Measure {
   public:
    FlagMeasure(RttStage stage, bool pinned)
        : stage_(std::move(stage)), capacity_(stage_.memory->capacity()) {
        if (pinned) pinned_ = stage_.device.allocate_host(capacity_ * sizeof(Line));
    }

    int sm() const override { return sm_of(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        bool const pinned = pinned_.size() != 0;
        if (pinned)
            std::fill_n(static_cast<std::byte*>(pinned_.host_ptr()), pinned_.size(), std::byte{});
        Flags const far{pinned ? pinned_.device_ptr() : stage_.device_view().requests.slots,
                        capacity_};
        Flags const near{pinned ? pinned_.host_ptr() : stage_.host_view().requests.slots,
                         capacity_};
        Flags const replies{stage_.host_view().replies.slots, capacity_};
        auto const kernel =
            launch(stage_.device, 1,
                   FlagEcho{far, Flags{stage_.device_view().replies.slots, capacity_},
                            stage_.device_view().status, stage_.warm_up + count, stage_.bound});
        await_started(stage_, kernel);
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            near[i].write(i);
            if (!pinned) X86::store_fence();
            await_flag(stage_.wait, replies[i], i);
        });
        if (!kernel.wait(kernel_limit)) throw TimeoutError("rtt", "the flag kernel did not end");
    }

   private:
    RttStage stage_;
    std::uint32_t capacity_;
    Memory pinned_;
};

}  // namespace

std::unique_ptr<Measure> make_raw_flag(RttStage const& stage) {
    return std::make_unique<FlagMeasure>(stage, false);
}

std::unique_ptr<Measure> make_pinned_flag(RttStage const& stage) {
    return std::make_unique<FlagMeasure>(stage, true);
}

std::unique_ptr<Measure> make_raw_flag_wide(RttStage const& stage) {
    RttStage wide = stage;
    wide.memory = std::make_shared<ChannelMemory>(stage.device, 1, 1024);
    return std::make_unique<FlagMeasure>(wide, false);
}

}  // namespace carillon::tool
