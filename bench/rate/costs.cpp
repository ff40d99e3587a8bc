// SPDX-License-Identifier: Apache-2.0
// The cost of one push for the calling thread, while a kernel drains the ring. A group of pushes is
// timed after the group before was taken: no push waits for room.
#include "measure/latency.hpp"
#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t group = 64;
constexpr std::uint32_t capacity = 1024;

// The median time per message of `once()`, which pushes a group; `settle()` runs before it.
template <class Settle, class Once>
double median_cost(std::chrono::nanoseconds duration, Settle&& settle, Once&& once) {
    std::vector<std::uint32_t> samples;
    auto const end = RateClock::now() + duration;
    auto now = end - duration;
    do {
        settle();
        auto const start = RateClock::now();
        once();
        now = RateClock::now();
        samples.push_back(static_cast<std::uint32_t>((now - start).count()));
    } while (now < end || samples.size() < 8);
    samples.erase(samples.begin(), samples.begin() + 4);  // the first ones warm up
    return summarize("", samples).p50_ns / group;
}

enum class Push : std::uint8_t {
    single,   // Ring::try_push for each
    batched,  // try_push_n for a group
    bare,     // the lower bound of a push: the store of a line that is ready in
              // memory, and the fence that makes it leave
};

class PushMeasure final : public RateMeasure {
   public:
    // All three share `memory`: how long a fence takes depends on where it lies.
    PushMeasure(RateStage stage, std::shared_ptr<ChannelMemory> memory, Push how)
        : stage_(std::move(stage)), memory_(std::move(memory)), how_(how) {}

    std::string name() const override {
        switch (how_) {
            case Push::single:
                return "try-push-single";
            case Push::batched:
                return "try-push-batched";
            default:
                return "store-fence";
        }
    }
    RateUnit unit() const override { return RateUnit::ns; }
    nlohmann::json parameters() const override {
        return {{"store", to_string(stage_.device.stores().kind)},
                {"batch", how_ == Push::batched ? group : 1},
                {"capacity", capacity},
                {"timed", group}};
    }

    double run(std::chrono::nanoseconds duration) override {
        memory_->reset();
        detail::RingView const view = memory_->host_view().channel(0).requests;
        // Ring::try_push uses this class.
        detail::HostProducer<Payload> ring(view, stage_.device.access(memory_->device_memory()),
                                           detail::HostCached());
        RateKernel kernel(stage_.device, {}, duration);
        kernel.order(Order::report);
        kernel.start(Drain{memory_->device_view().channel(0).requests, kernel.ledger()});
        Source source(1);
        std::vector<detail::Line> ready(group);
        std::vector<detail::Line*> slots(group);
        std::size_t pushed = group;
        double const cost = median_cost(
            duration,
            [&] {
                if (pushed != group) throw Error("rate", "a push found no room");
                kernel.await(source.tally().messages);
                if (how_ == Push::bare) {
                    compose(source, ready);
                    find_slots(view, source.tally().messages, slots);
                }
            },
            [&] {
                auto const messages = source.next_messages(group);
                switch (how_) {
                    case Push::single:
                        pushed = push(ring, messages);
                        break;
                    case Push::batched:
                        pushed = ring.try_push_n(messages.data(), group);
                        break;
                    case Push::bare:
                        store(slots, ready);
                }
                source.sent(pushed);
            });
        kernel.await(source.tally().messages);
        require_equal(name(), source.tally(), kernel.stop());
        return cost;
    }

   private:
    static std::size_t push(detail::HostProducer<Payload>& ring,
                            std::span<Payload const> messages) {
        std::size_t pushed = 0;
        for (Payload const& each : messages) pushed += ring.try_push(each) ? 1 : 0;
        return pushed;
    }

    static void compose(Source const& source, std::vector<detail::Line>& lines) {
        auto const messages = source.next_messages(group);
        for (std::size_t i = 0; i < group; ++i) {
            lines[i] = detail::pack(messages[i], detail::tag_of(source.tally().messages + i + 1));
        }
    }

    // Finds the slots of the messages after `sent`, once the device has reported its choice of
    // pages.
    static void find_slots(detail::RingView const& view, std::uint64_t sent,
                           std::vector<detail::Line*>& slots) {
        detail::ToldPages pages(view.pages);
        for (std::size_t i = 0; i < group; ++i) {
            slots[i] = pages.slot(view, sent + i + 1);
            auto const told = [&] {
                if (!pages.known()) slots[i] = pages.look(detail::HostCached(), view, sent + i + 1);
                return pages.known();
            };
            if (!HostWait(HostWait::Style::yield).until(told, std::chrono::seconds(5))) {
                throw TimeoutError("rate", "the device has not chosen its pages");
            }
        }
    }

    void store(std::vector<detail::Line*> const& slots,
               std::vector<detail::Line> const& lines) const {
        StoreKind const kind = stage_.device.stores().kind;
        for (std::size_t i = 0; i < group; ++i) {
            detail::X86::store_line(kind, slots[i], lines[i]);
            if (kind != StoreKind::cached) detail::X86::store_fence();
        }
    }

    RateStage stage_;
    std::shared_ptr<ChannelMemory> memory_;
    Push how_;
};

}  // namespace

void add_cost_measures(RateStage const& stage, RateMeasures& measures) {
    auto const memory = std::make_shared<ChannelMemory>(stage.device, 1, capacity);
    for (Push how : {Push::single, Push::bare, Push::batched}) {
        measures.push_back(std::make_unique<PushMeasure>(stage, memory, how));
    }
}

}  // namespace carillon::tool
