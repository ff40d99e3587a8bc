// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <carillon/carillon.hpp>

#include "rtt/flag_rig.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t flags_of_a_page = FlagField::page / sizeof(detail::Line);

class FlagMeasure final : public Measure {
   public:
    FlagMeasure(RttStage const& stage, FlagLayout const& layout)
        : warm_up_(stage.warm_up),
          rig_(stage.device, with_replies(layout, stage), stage.wait.style()) {}

    int sm() const override { return rig_.sm(); }

    void run(std::uint32_t count, Samples& samples) override {
        rig_.start(warm_up_ + count);
        time_trips(warm_up_, count, samples, rig_.trips());
        rig_.await_end();
    }

   private:
    // Puts the replies' flags where the replies of calls are.
    static FlagLayout with_replies(FlagLayout layout, RttStage const& stage) {
        layout.replies = {stage.host_view().replies.base, stage.device_view().replies.base,
                          stage.memory->capacity()};
        return layout;
    }

    std::uint32_t warm_up_;
    FlagRig rig_;
};

std::unique_ptr<Measure> make_flags(RttStage const& stage, FlagPlace place) {
    std::uint32_t const count = std::min(stage.memory->capacity(), flags_of_a_page);
    return std::make_unique<FlagMeasure>(stage, FlagLayout{.place = place, .count = count});
}

}  // namespace

std::unique_ptr<Measure> make_raw_flag_near(RttStage const& stage) {
    return make_flags(stage, FlagPlace::near_page);
}

std::unique_ptr<Measure> make_raw_flag_far(RttStage const& stage) {
    return make_flags(stage, FlagPlace::far_page);
}

std::unique_ptr<Measure> make_raw_flag_wide(RttStage const& stage) {
    constexpr std::uint32_t pages = 16;
    return std::make_unique<FlagMeasure>(
        stage, FlagLayout{.place = FlagPlace::in_a_row, .count = pages * flags_of_a_page});
}

std::unique_ptr<Measure> make_pinned_flag(RttStage const& stage) {
    return std::make_unique<FlagMeasure>(stage, FlagLayout{.place = FlagPlace::in_a_row,
                                                           .count = stage.memory->capacity(),
                                                           .pinned = true});
}

}  // namespace carillon::tool
