// SPDX-License-Identifier: Apache-2.0
// The upper bound of all rates towards the device: the producer's instruction in a bare loop.
#include <carillon/copy.hpp>

#include "rate/producers.hpp"

namespace carillon::tool {
namespace {

// 64-byte stores over as many lines as a ring has, and a fence for each batch.
class StoresMeasure final : public RateMeasure {
   public:
    StoresMeasure(RateStage stage, std::string name, unsigned producers)
        : stage_(std::move(stage)), name_(std::move(name)), producers_(producers) {}

    std::string name() const override { return name_; }
    nlohmann::json parameters() const override {
        return {{"producers", producers_},
                {"capacity", lines()},
                {"batch", batch},
                {"store", to_string(stage_.device.stores().bulk_kind())}};
    }

    double run(std::chrono::nanoseconds duration) override {
        Memory const memory = stage_.device.allocate(producers_ * lines() * sizeof(detail::Line));
        std::vector<std::uint64_t> stored(producers_);
        auto const start = on_producers(
            producers_, !stage_.device.traits().shares_processors, [&](unsigned thread) {
                auto* const first =
                    static_cast<detail::Line*>(memory.host_ptr()) + thread * lines();
                stored[thread] = store_for(duration, memory, first);
            });
        auto const elapsed = RateClock::now() - start;
        std::uint64_t all = 0;
        for (std::uint64_t each : stored) all += each;
        return per_second(all, elapsed);
    }

   private:
    static constexpr std::size_t batch = 256;

    [[nodiscard]] std::size_t lines() const {
        return std::max<std::size_t>(stage_.options.capacity, batch);
    }

    [[nodiscard]] std::uint64_t store_for(std::chrono::nanoseconds duration, Memory const& memory,
                                          detail::Line* first) const {
        detail::HostMapped const far = stage_.device.access(memory);
        StoreKind const kind = far.stores().bulk_kind();
        std::vector<detail::Line> const from(batch, detail::pack(std::uint64_t{1}, 1));
        auto const end = RateClock::now() + duration;
        for (std::size_t stored = 0;;) {
            detail::Line* const to = first + stored % lines();
            stream_copy(kind, to, from.data(), batch * sizeof(detail::Line));
            far.commit(to, batch * sizeof(detail::Line));
            stored += batch;
            if (stored % (64 * batch) == 0 && RateClock::now() >= end) return stored;
        }
    }

    RateStage stage_;
    std::string name_;
    unsigned producers_;
};

}  // namespace

void add_store_measures(RateStage const& stage, RateMeasures& measures) {
    measures.push_back(std::make_unique<StoresMeasure>(stage, "bare-stores", 1));
    measures.push_back(std::make_unique<StoresMeasure>(stage, "bare-stores-8", stage.producers(8)));
}

}  // namespace carillon::tool
