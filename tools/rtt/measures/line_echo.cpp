// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>
#include <iterator>

#include "rtt/measure.hpp"

namespace carillon::tool {
namespace {

class LineMeasure final : public Measure {
   public:
    explicit LineMeasure(RttStage stage) : stage_(std::move(stage)) {}

    int sm() const override { return sm_of(stage_); }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        ChannelView const host = stage_.host_view();
        HostMapped const far = stage_.device.access(stage_.memory->device_memory());
        HostProducer<Words> requests(host.requests, far, HostCached());
        HostConsumer<Words> replies(host.replies, HostCached(), far);
        auto const kernel =
            launch(stage_.device, 1,
                   LineEcho{stage_.memory->device_view(), stage_.warm_up + count, stage_.bound});
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
        if (!kernel.wait(kernel_limit)) throw TimeoutError("rtt", "the echo kernel did not end");
    }

   private:
    RttStage stage_;
};

}  // namespace

std::unique_ptr<Measure> make_line_echo(RttStage const& stage) {
    return std::make_unique<LineMeasure>(stage);
}

}  // namespace carillon::tool
