// SPDX-License-Identifier: Apache-2.0
// Lines from CPU threads to a kernel's warps.
#include <array>
#include <mutex>
#include <optional>

#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

using LineRing = MpmcRing<Payload, Direction::to_device>;

// How threads that push into one ring avoid each other.
enum class Sharing : bool { claims, mutex };

struct LinesSetup {
    std::string name;
    unsigned producers = 1;
    unsigned rings = 1;   // one for all of them, or one for each
    unsigned blocks = 1;  // of each ring
    std::uint32_t warps = 1;
    std::uint32_t stripe = 32;
    std::uint32_t batch = 1;
    Sharing sharing = Sharing::claims;
    bool sums = true;  // or an empty handler

    [[nodiscard]] LaunchShape shape() const {
        return {rings * blocks, warps * detail::lanes_per_warp};
    }
};

// "lines-8p1r": 8 producers, 1 ring.
std::string lines_name(unsigned producers, unsigned rings) {
    return "lines-" + std::to_string(producers) + "p" + std::to_string(rings) + "r";
}

template <std::size_t... i>
std::array<DeviceMpmcConsumer<Payload>, sizeof...(i)> device_ends(
    std::vector<LineRing> const& rings, std::index_sequence<i...> /*indices*/) {
    return {rings[i % rings.size()].device_handle()...};
}

template <bool sums>
TakeMpmc<sums> taker(std::vector<LineRing> const& rings, Ledger const& ledger) {
    constexpr unsigned most = TakeMpmc<sums>::most_rings;
    auto const ends = device_ends(rings, std::make_index_sequence<most>());
    return {{ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], ends[6], ends[7]},
            static_cast<unsigned>(rings.size()),
            ledger};
}

class LinesMeasure final : public RateMeasure {
   public:
    LinesMeasure(RateStage stage, LinesSetup setup)
        : stage_(std::move(stage)), setup_(std::move(setup)) {}

    std::string name() const override { return setup_.name; }
    nlohmann::json parameters() const override {
        return {{"producers", setup_.producers},
                {"rings", setup_.rings},
                {"blocks", setup_.rings * setup_.blocks},
                {"warps", setup_.warps},
                {"capacity", stage_.options.capacity},
                {"stripe", setup_.stripe},
                {"batch", setup_.batch},
                {"sharing", setup_.sharing == Sharing::mutex ? "mutex" : "claims"}};
    }

    double run(std::chrono::nanoseconds duration) override {
        std::vector<LineRing> rings;
        MpmcRingOptions options;
        options.capacity = stage_.options.capacity;
        options.stripe = setup_.stripe;
        for (unsigned i = 0; i < setup_.rings; ++i) rings.emplace_back(stage_.device, options);
        RateKernel kernel(stage_.device, setup_.shape(), duration);
        if (setup_.sums) {
            kernel.start(taker<true>(rings, kernel.ledger()));
        } else {
            kernel.start(taker<false>(rings, kernel.ledger()));
        }
        auto const start = send(rings, duration);
        kernel.order(Order::report);
        kernel.await(sent_.messages);
        auto const elapsed = RateClock::now() - start;
        Tally taken = kernel.stop();
        if (!setup_.sums) taken.sum = sent_.sum;
        require_equal(setup_.name, sent_, taken);
        return per_second(sent_.messages, elapsed);
    }

   private:
    // Returns when the threads began.
    RateClock::time_point send(std::vector<LineRing>& rings, std::chrono::nanoseconds duration) {
        std::vector<Tally> sent(setup_.producers);
        std::mutex mutex;
        std::optional<HostMpmcProducer<Payload>> common;
        if (setup_.sharing == Sharing::mutex) common.emplace(rings[0].producer());
        auto const start = on_producers(
            setup_.producers, !stage_.device.traits().shares_processors, [&](unsigned thread) {
                Source source(thread + 1);
                if (common) {
                    send_for(duration, source, setup_.batch, stage_.oversubscribed(),
                             [&](std::span<Payload const> messages) {
                                 std::lock_guard const lock(mutex);
                                 return common->try_push_n(messages);
                             });
                } else {
                    auto own = rings[thread % rings.size()].producer();
                    send_for(duration, source, setup_.batch, stage_.oversubscribed(),
                             [&](std::span<Payload const> messages) {
                                 return own.try_push_n(messages);
                             });
                }
                sent[thread] = source.tally();
            });
        sent_ = {};
        for (Tally const& each : sent) sent_ += each;
        return start;
    }

    RateStage stage_;
    LinesSetup setup_;
    Tally sent_;
};

}  // namespace

void add_line_measures(RateStage const& stage, RateMeasures& measures) {
    RateOptions const& options = stage.options;
    bool const one_thread = stage.device.traits().one_thread_a_block;
    // More blocks would only share its processors.
    LinesSetup base;
    base.warps = one_thread ? 1 : options.warps;
    base.stripe = options.stripe;
    base.batch = options.batch;
    auto const add = [&](LinesSetup setup, std::string name) {
        setup.name = std::move(name);
        measures.push_back(std::make_unique<LinesMeasure>(stage, std::move(setup)));
    };
    add(base, "lines-1p1c");
    for (unsigned wanted : {2U, 4U, 8U}) {
        LinesSetup own = base;
        own.producers = own.rings = stage.producers(wanted);
        if (own.producers == wanted || wanted == 8) add(own, lines_name(wanted, wanted));
    }
    for (unsigned wanted : {1U, 2U, 4U, 8U}) {
        LinesSetup one = base;
        one.producers = stage.producers(wanted);
        one.batch = 16;
        if (one.producers == wanted || wanted == 8) add(one, lines_name(wanted, 1));
        if (wanted != 8) continue;
        one.sharing = Sharing::mutex;
        add(one, lines_name(wanted, 1) + "-mutex");
        one.batch = 1;
        add(one, lines_name(wanted, 1) + "-mutex-single");
        one.sharing = Sharing::claims;
        add(one, lines_name(wanted, 1) + "-single");
    }
    LinesSetup all = base;
    all.blocks = one_thread ? 4 : static_cast<unsigned>(stage.device.info().sm_count.value_or(1));
    all.warps = 1;
    all.stripe = std::min(options.stripe, 32U);
    all.sums = false;
    add(all, "commands-all-sms");
}

}  // namespace carillon::tool
