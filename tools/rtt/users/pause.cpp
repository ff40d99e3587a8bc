// SPDX-License-Identifier: Apache-2.0
// After a pause: a call, a bare line and a bare flag, each after the same.
#include <carillon/carillon.hpp>
#include <string>

#include "measure/interrupt.hpp"
#include "measure/line_rig.hpp"
#include "measure/pauses.hpp"
#include "rtt/users/calls.hpp"

namespace carillon::tool {
namespace {

using Handler = Summing<48, 48>;

// Times `trip(i)`, i from 1, once a pause: first without, until everything has been used. After an
// interrupt the rest of the trips, for which a kernel waits, are made at once and not timed.
template <class KeepWarm, class Trip>
void time_after(UsersStage const& stage, Pause pause, UsersFigures& figures, KeepWarm&& keep_warm,
                Trip&& trip) {
    for (std::uint32_t i = 1; i <= stage.warm_up; ++i) trip(i);
    for (std::uint32_t i = 1; i <= stage.pauses; ++i) {
        spend(pause, stage.pause, keep_warm);
        if (interrupted()) {
            trip(stage.warm_up + i);
        } else {
            time_trips_from(stage.warm_up + i, 1, figures.latencies, trip);
        }
    }
}

class PausedMeasure : public UsersMeasure {
   public:
    PausedMeasure(UsersStage stage, Pause pause) : stage_(std::move(stage)), pause_(pause) {}

   protected:
    [[nodiscard]] std::uint32_t trips() const { return stage_.warm_up + stage_.pauses; }
    // The kernel of a round lasts through all its pauses. Twice their sum, since this thread may
    // sleep too long.
    [[nodiscard]] std::chrono::nanoseconds pauses() const {
        return 2 * stage_.pauses * stage_.pause;
    }

    UsersStage stage_;
    Pause pause_;
};

class PausedCall final : public PausedMeasure {
   public:
    using PausedMeasure::PausedMeasure;

    void run(std::uint32_t /*count*/, UsersFigures& figures) override {
        PersistentKernel<Handler> kernel(stage_.device);
        auto& channel = kernel.channel();
        time_after(
            stage_, pause_, figures, [&] { channel.warm(); },
            [&](std::uint32_t i) { call_once<Handler>(channel, i); });
        kernel.stop();
    }
};

class PausedLine final : public PausedMeasure {
   public:
    using PausedMeasure::PausedMeasure;

    void run(std::uint32_t /*count*/, UsersFigures& figures) override {
        LineRig rig(stage_.device, trips(), {}, pauses());
        time_after(
            stage_, pause_, figures, [] {}, [&](std::uint32_t i) { rig.trip(i); });
        rig.await_end();
    }
};

class PausedFlag final : public PausedMeasure {
   public:
    PausedFlag(UsersStage const& stage, Pause pause)
        : PausedMeasure(stage, pause), rig_(stage.device, {}) {}

    void run(std::uint32_t /*count*/, UsersFigures& figures) override {
        rig_.start(trips(), pauses());
        time_after(
            stage_, pause_, figures, [] {}, rig_.trips());
        rig_.await_end();
    }

   private:
    FlagRig rig_;
};

template <class Measure>
void add(UsersStage const& stage, UsersRows& rows, std::string const& name, Pause pause,
         std::string const& spent) {
    double const ms = std::chrono::duration<double, std::milli>(stage.pause).count();
    rows.push_back({"pause",
                    name + "-after-" + spent,
                    {{"pause_ms", ms}, {"spent", spent}},
                    std::make_unique<Measure>(stage, pause)});
}

}  // namespace

void add_pause_rows(UsersStage const& stage, UsersRows& rows) {
    for (auto const& [pause, spent] : {std::pair(Pause::sleep, "sleep"), {Pause::spin, "spin"}}) {
        add<PausedCall>(stage, rows, "call", pause, spent);
        add<PausedLine>(stage, rows, "line-echo", pause, spent);
        add<PausedFlag>(stage, rows, "raw-flag", pause, spent);
    }
    add<PausedCall>(stage, rows, "call", Pause::warm, "warm");
}

}  // namespace carillon::tool
