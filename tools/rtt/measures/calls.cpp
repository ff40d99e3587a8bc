// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>

#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

template <class ChannelOf>
void time_calls(RttStage const& stage, std::uint32_t count, Samples& samples,
                ChannelOf&& channel_of) {
    Tick tick{4810.00, 4810.25, 0, 17, 0, 22, 28};
    time_trips(stage.warm_up, count, samples, [&](std::uint32_t i) {
        tick.order = i;
        Quote const quote = channel_of(i).call(tick, round_trip_limit);
        if (quote.order != i) throw UsageError("rtt", "a quote for another order came back");
    });
}

// Calls to a block that has only its loop. PersistentKernel's time minus this is what it adds.
class BareCallMeasure final : public Measure {
   public:
    explicit BareCallMeasure(RttStage stage) : stage_(std::move(stage)) {}

    int sm() const override { return sm_of(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        Channel<Tick, Quote> own_channel(stage_.device, stage_.memory, 0U, stage_.wait);
        auto* const channel = &own_channel;
        auto const kernel =
            launch(stage_.device, 1,
                   BareReprice{stage_.memory->device_view(), stage_.warm_up + count, stage_.bound});
        await_started(stage_, kernel);
        time_calls(
            stage_, count, samples, [&](std::uint32_t) -> auto& { return *channel; });
        if (!kernel.wait(kernel_limit)) throw TimeoutError("rtt", "the bare kernel did not end");
    }

   private:
    RttStage stage_;
};

// Calls through one channel, or through the channels of one block in turn.
class CallMeasure final : public Measure {
   public:
    CallMeasure(RttStage stage, unsigned channels)
        : stage_(std::move(stage)),
          channels_(channels),
          memory_(channels == 1 ? stage_.memory
                                : std::make_shared<ChannelMemory>(stage_.device, channels,
                                                                  stage_.memory->capacity())) {}

    int sm() const override { return sm_; }

    void run(std::uint32_t count, Samples& samples) override {
        if (channels_ == 1) {
            run<Channels>(count, samples);
        } else {
            run<WatchedChannels>(count, samples);
        }
    }

   private:
    template <class Requests>
    void run(std::uint32_t count, Samples& samples) {
        KernelOptions options;
        options.lifetime = std::chrono::nanoseconds(stage_.bound.ns);
        options.wait = stage_.wait.style();
        options.memory = memory_;
        if (channels_ != 1) options.watched.per_block = channels_;
        PersistentKernel<Reprice, Requests> kernel(stage_.device, options);
        sm_ = static_cast<int>(kernel.sm());
        if (channels_ == 1) {
            auto& channel = kernel.channel();
            time_calls(
                stage_, count, samples, [&](std::uint32_t) -> auto& { return channel; });
        } else {
            time_calls(
                stage_, count,
                samples, [&](std::uint32_t i) -> auto& { return kernel.channel(i % channels_); });
        }
        kernel.stop();
    }

    RttStage stage_;
    unsigned channels_;
    std::shared_ptr<ChannelMemory> memory_;
    int sm_ = -1;
};

}  // namespace

std::unique_ptr<Measure> make_call_bare(RttStage const& stage) {
    return std::make_unique<BareCallMeasure>(stage);
}

std::unique_ptr<Measure> make_call(RttStage const& stage) {
    return std::make_unique<CallMeasure>(stage, 1);
}

std::unique_ptr<Measure> make_call_64_rings(RttStage const& stage) {
    return std::make_unique<CallMeasure>(stage, 64);
}

}  // namespace carillon::tool
