// SPDX-License-Identifier: Apache-2.0
// Replies: the warps of a kernel send, one CPU thread takes and sums.
#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

class RepliesMeasure final : public RateMeasure {
   public:
    explicit RepliesMeasure(RateStage stage)
        : stage_(std::move(stage)),
          shape_{1, stage_.device.traits().one_thread_a_block
                        ? 1
                        : stage_.threads_of(stage_.options.warps)} {}

    std::string name() const override { return "replies"; }
    nlohmann::json parameters() const override {
        return {{"consumers", 1},
                {"blocks", shape_.blocks},
                {"warps", (shape_.threads + detail::lanes_per_warp - 1) / detail::lanes_per_warp},
                {"capacity", options().capacity},
                {"stripe", options().stripe}};
    }

    double run(std::chrono::nanoseconds duration) override {
        MpmcRing<Payload, Direction::to_host> const ring(stage_.device, options());
        auto consumer = ring.consumer();
        RateKernel kernel(stage_.device, shape_, duration);
        kernel.start(SendMpmc{ring.device_handle(), kernel.ledger()});
        Tally taken;
        auto const take = [&] {
            return consumer.poll([&](Payload const& message, detail::Sequence /*number*/) {
                taken.add(message.sum());
            });
        };
        auto const wait = HostWait::for_kernel(stage_.device.traits(), 1);
        if (!wait.until(take, rate_limit)) throw TimeoutError("rate", "no reply came");
        std::uint64_t const before = taken.messages;
        auto const start = RateClock::now();
        auto now = start;
        std::uint32_t misses = 0;
        for (std::uint32_t polls = 1; now - start < duration; ++polls) {
            bool const found = take();
            misses = found ? 0 : misses + 1;
            if (!found) detail::cpu::pause_or_yield(misses, stage_.oversubscribed());
            if (polls % 256 == 0 || misses % 64 == 1) now = RateClock::now();
        }
        double const rate = per_second(taken.messages - before, now - start);
        Tally const sent = kernel.stop();
        auto const drain = [&] {
            while (take()) continue;
            return taken.messages >= sent.messages;
        };
        (void)wait.until(drain, rate_limit);
        require_equal(name(), sent, taken);
        return rate;
    }

   private:
    // A long queue of replies: its credits cross the bus, one per stripe.
    [[nodiscard]] static MpmcRingOptions options() {
        MpmcRingOptions options;
        options.capacity = 65536;
        options.stripe = 256;
        return options;
    }

    RateStage stage_;
    LaunchShape shape_;
};

}  // namespace

void add_reply_measures(RateStage const& stage, RateMeasures& measures) {
    measures.push_back(std::make_unique<RepliesMeasure>(stage));
}

}  // namespace carillon::tool
