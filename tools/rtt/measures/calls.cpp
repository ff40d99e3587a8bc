// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <carillon/carillon.hpp>

#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

constexpr std::chrono::seconds end_limit{5};

int place(RttStage const& stage) {
    return static_cast<int>(HostCached().load_word(&stage.host().status->multiprocessor));
}

void await_started(RttStage const& stage, RunningKernel const& kernel) {
    auto const started = [&] {
        return HostCached().load_word(&stage.host().status->started) != 0 || kernel.finished();
    };
    if (!HostWait(HostWait::Style::yield).until(started, end_limit)) {
        throw TimeoutError("rtt", "the kernel did not start");
    }
}

// A flag each way. The request's flag is in device memory (raw) or in host memory (pinned).
class FlagMeasure : public Measure {
   public:
    FlagMeasure(RttStage stage, std::string name, bool pinned)
        : stage_(std::move(stage)), name_(std::move(name)), capacity_(stage_.memory->capacity()) {
        if (pinned) pinned_ = stage_.device.allocate_host(capacity_ * sizeof(Line));
    }

    std::string name() const override { return name_; }
    int multiprocessor() const override { return place(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        bool const pinned = pinned_.size() != 0;
        if (pinned)
            std::fill_n(static_cast<std::byte*>(pinned_.host()), pinned_.size(), std::byte{});
        Flags const far{pinned ? pinned_.device() : stage_.on_device().requests.slots, capacity_};
        Flags const near{pinned ? pinned_.host() : stage_.host().requests.slots, capacity_};
        Flags const replies{stage_.host().replies.slots, capacity_};
        auto const kernel =
            launch(stage_.device, 1,
                   FlagEcho{far, Flags{stage_.on_device().replies.slots, capacity_},
                            stage_.on_device().status, stage_.warm_up + count, stage_.bound});
        await_started(stage_, kernel);
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            near[i].write(i);
            if (!pinned) X86::store_fence();
            await_flag(stage_.wait, replies[i], i);
        });
        if (!kernel.wait(end_limit)) throw TimeoutError("rtt", "the flag kernel did not end");
    }

   private:
    RttStage stage_;
    std::string name_;
    std::uint32_t capacity_;
    Memory pinned_;
};

class LineMeasure : public Measure {
   public:
    explicit LineMeasure(RttStage stage) : stage_(std::move(stage)) {}

    std::string name() const override { return "line-echo"; }
    int multiprocessor() const override { return place(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        ChannelView const host = stage_.host();
        HostMapped const far = stage_.device.access(stage_.memory->device_memory());
        HostProducer<Words> requests(host.requests, far, HostCached());
        HostConsumer<Words> replies(host.replies, HostCached(), far);
        auto const kernel =
            launch(stage_.device, 1,
                   LineEcho{stage_.memory->on_device(), stage_.warm_up + count, stage_.bound});
        await_started(stage_, kernel);
        auto const watched = [&] { return replies.awaited(); };
        Words words{};
        Words answer{};
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            words.word[i % std::size(words.word)] = i;
            if (!requests.try_push(words) ||
                !stage_.wait.until([&] { return replies.try_pop(answer); }, watched,
                                   round_trip_limit)) {
                throw TimeoutError("rtt", "a line was not answered");
            }
            if (answer.word[i % std::size(words.word)] != i) {
                throw UsageError("rtt", "a line came back with another content");
            }
        });
        if (!kernel.wait(end_limit)) throw TimeoutError("rtt", "the echo kernel did not end");
    }

   private:
    RttStage stage_;
};

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

// Calls to a block that has nothing but its loop: what PersistentKernel adds is the rest.
class BareCallMeasure : public Measure {
   public:
    explicit BareCallMeasure(RttStage stage) : stage_(std::move(stage)) {}

    std::string name() const override { return "call-bare"; }
    int multiprocessor() const override { return place(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        Channel<Tick, Quote> own_channel(stage_.device, stage_.memory, 0, stage_.wait);
        auto* const channel = &own_channel;
        auto const kernel =
            launch(stage_.device, 1,
                   BareReprice{stage_.memory->on_device(), stage_.warm_up + count, stage_.bound});
        await_started(stage_, kernel);
        time_calls(
            stage_, count, samples, [&](std::uint32_t) -> auto& { return *channel; });
        if (!kernel.wait(end_limit)) throw TimeoutError("rtt", "the bare kernel did not end");
    }

   private:
    RttStage stage_;
};

// Calls through one channel, or through the channels of one block in turn.
class CallMeasure : public Measure {
   public:
    CallMeasure(RttStage stage, std::string name, unsigned channels)
        : stage_(std::move(stage)),
          name_(std::move(name)),
          channels_(channels),
          memory_(channels == 1 ? stage_.memory
                                : std::make_shared<ChannelMemory>(stage_.device, channels,
                                                                  stage_.memory->capacity())) {}

    std::string name() const override { return name_; }
    int multiprocessor() const override { return place_; }

    void run(std::uint32_t count, Samples& samples) override {
        PersistentKernelOptions options;
        options.channels_per_block = channels_;
        options.lifetime = std::chrono::nanoseconds(stage_.bound.ns);
        options.wait = stage_.wait.style();
        PersistentKernel<Reprice> kernel(stage_.device, memory_, options);
        place_ = static_cast<int>(kernel.multiprocessor());
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

   private:
    RttStage stage_;
    std::string name_;
    unsigned channels_;
    std::shared_ptr<ChannelMemory> memory_;
    int place_ = -1;
};

}  // namespace

std::vector<std::unique_ptr<Measure>> make_ring_measures(RttStage const& stage) {
    std::vector<std::unique_ptr<Measure>> measures;
    measures.push_back(std::make_unique<FlagMeasure>(stage, "raw-flag", false));
    measures.push_back(std::make_unique<FlagMeasure>(stage, "pinned-flag", true));
    measures.push_back(std::make_unique<LineMeasure>(stage));
    measures.push_back(std::make_unique<BareCallMeasure>(stage));
    measures.push_back(std::make_unique<CallMeasure>(stage, "call", 1));
    measures.push_back(std::make_unique<CallMeasure>(stage, "call-64-rings", 64));
    // The other flags have one page each way, fast or slow by luck; this one has sixteen.
    RttStage wide = stage;
    wide.memory = std::make_shared<ChannelMemory>(stage.device, 1, 1024);
    measures.push_back(std::make_unique<FlagMeasure>(wide, "raw-flag-wide", false));
    return measures;
}

}  // namespace carillon::tool
