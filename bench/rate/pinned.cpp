// SPDX-License-Identifier: Apache-2.0
// The alternative to lines in device memory. Device source: compiled by nvcc if there is one.
#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

// Lines in page-locked host memory, polled by warps over the bus, without anything that is not
// needed.
class PinnedMeasure final : public RateMeasure {
   public:
    explicit PinnedMeasure(RateStage stage)
        : stage_(std::move(stage)),
          warps_(stage_.device.traits().one_thread_a_block ? 2 : stage_.options.warps),
          batch_(std::max(stage_.options.batch / PinnedRing::row, 1U) * PinnedRing::row) {}

    std::string name() const override { return "pinned-polling"; }
    nlohmann::json parameters() const override {
        return {{"producers", 1},
                {"warps", warps_},
                {"capacity", stage_.options.capacity},
                {"batch", batch_}};
    }

    double run(std::chrono::nanoseconds duration) override {
        std::uint32_t const capacity = stage_.options.capacity;
        std::size_t const slots = capacity * sizeof(detail::Line);
        Memory const memory = stage_.device.allocate_host(slots + warps_ * sizeof(detail::Line));
        RateKernel kernel(stage_.device,
                          stage_.device.traits().one_thread_a_block
                              ? LaunchShape{warps_, 1}
                              : LaunchShape{1, stage_.threads_of(warps_)},
                          duration);
        auto const ring = [&](void* start) {
            auto* const lines = static_cast<detail::Line*>(start);
            return PinnedRing{lines, reinterpret_cast<std::uint64_t*>(lines + capacity), capacity,
                              warps_};
        };
        ring_ = ring(memory.host_ptr());
        next_ = 0;
        kernel.start(PollPinned{ring(memory.device_ptr()), kernel.ledger()});
        Tally sent;
        auto const start =
            on_producers(1, !stage_.device.traits().shares_processors, [&](unsigned /*thread*/) {
                Source source(1);
                send_for(duration, source, batch_, stage_.oversubscribed(),
                         [&](std::span<Payload const> messages) { return push(messages); });
                sent = source.tally();
            });
        kernel.order(Order::report);
        kernel.await(sent.messages);
        auto const elapsed = RateClock::now() - start;
        require_equal(name(), sent, kernel.stop());
        return per_second(sent.messages, elapsed);
    }

   private:
    // Sends as many rows as were taken a lap ago.
    std::size_t push(std::span<Payload const> messages) {
        std::size_t sent = 0;
        while (sent < messages.size() && has_room()) {
            for (std::uint32_t i = 0; i < PinnedRing::row; ++i, ++next_, ++sent) {
                detail::Line const line = detail::pack(messages[sent], ring_.tag(next_));
                detail::Line* const to = ring_.line(next_);
                for (std::size_t q = 0; q < detail::quads_per_line; ++q) {
                    detail::X86::store_quad(&to->quads[q], line.quads[q]);
                }
            }
        }
        return sent;
    }

    [[nodiscard]] bool has_room() const {
        if (next_ < ring_.capacity) return true;
        std::uint64_t const row_before = (next_ - ring_.capacity) / PinnedRing::row;
        auto const warp = static_cast<std::uint32_t>(row_before % warps_);
        return detail::HostCached().load_word(ring_.credit(warp)) > row_before / warps_;
    }

    RateStage stage_;
    std::uint32_t warps_;
    std::uint32_t batch_;
    PinnedRing ring_{};
    std::uint64_t next_ = 0;
};

}  // namespace

void add_pinned_measures(RateStage const& stage, RateMeasures& measures) {
    measures.push_back(std::make_unique<PinnedMeasure>(stage));
}

}  // namespace carillon::tool
