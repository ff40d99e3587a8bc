// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>
#include <optional>

#include "kernels/rtt_kernels.hpp"
#include "load/targets.hpp"

namespace carillon::tool {
namespace {

class ChannelTarget final : public LoadTarget {
   public:
    ChannelTarget(Device const& device, std::uint32_t capacity)
        : kernel_(device, options(capacity)),
          channel_(&kernel_.channel()),
          tickets_(capacity),
          shares_processors_(device.traits().shares_processors) {}

    LoadRun run(Schedule const& schedule, std::uint64_t count, std::uint64_t window,
                Samples& latencies) override {
        return run_schedule(schedule, count, std::min<std::uint64_t>(window, tickets_.size()),
                            load_limit_ns, *this, now_ns, latencies);
    }

    bool try_send(std::uint64_t i) {
        tick_.order = i;
        auto& ticket = tickets_[i & (tickets_.size() - 1)];
        ticket = channel_->try_submit(tick_);
        return ticket.has_value();
    }

    bool try_take(std::uint64_t i) {
        auto const quote = channel_->try_take(*tickets_[i & (tickets_.size() - 1)]);
        if (!quote) return false;
        idle_ = 0;
        if (quote->order != i) throw Error("load", "a quote for another order came back");
        return true;
    }

    // The device may need a processor too.
    void idle() {
        if (shares_processors_) detail::cpu::pause_or_yield(++idle_, HostWait::oversubscribed(1));
    }

   private:
    static KernelOptions options(std::uint32_t capacity) {
        KernelOptions options;
        options.capacity = capacity;
        return options;
    }

    PersistentKernel<Reprice> kernel_;
    Channel<Tick, Quote>* channel_;
    std::vector<std::optional<Ticket>> tickets_;
    Tick tick_{4810.00, 4810.25, 0, 17, 0, 22, 28};
    bool shares_processors_;
    std::uint32_t idle_ = 0;
};

}  // namespace

std::unique_ptr<LoadTarget> make_channel_target(Device const& device, std::uint32_t capacity) {
    return std::make_unique<ChannelTarget>(device, capacity);
}

}  // namespace carillon::tool
