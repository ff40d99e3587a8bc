// SPDX-License-Identifier: Apache-2.0
// ChunkTraffic to a device whose loads of data are late: a chunk holds still from its commit to its
// release.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/seeds.hpp"
#include "traffic/chunk_traffic.hpp"

namespace carillon::test {
using namespace detail;

// Loads of data that a device thread has issued and whose values have not come yet. Only a fence
// keeps a plain load ahead of later accesses, which the machine itself cannot show.
class LateLoads {
   public:
    explicit LateLoads(Machine& machine) : machine_(machine) {}

    void issue(std::uint64_t const* from, std::uint64_t expected) {
        under_way_.push_back({from, expected});
    }
    // Values that happen to come now.
    void some() {
        while (!under_way_.empty() && machine_.random().one_in(4)) finish_one();
    }
    void all() {
        while (!under_way_.empty()) {
            if (machine_.random().one_in(2)) machine_.pause(Side::device);
            finish_one();
        }
    }

   private:
    struct Load {
        std::uint64_t const* from;
        std::uint64_t expected;
    };

    void finish_one() {
        auto const chosen = under_way_.begin() +
                            machine_.random().below(static_cast<std::uint32_t>(under_way_.size()));
        Load const load = *chosen;
        under_way_.erase(chosen);
        std::uint64_t const word =
            detail::load_word(machine_, Side::device, load.from, Machine::LoadOrder::relaxed);
        machine_.require(word == load.expected, "a chunk has other data: {:x}, not {:x}", word,
                         load.expected);
    }

    Machine& machine_;
    std::vector<Load> under_way_;
};

// A device thread whose plain loads are late.
class LateGpu : public AdversaryGpu {
   public:
    LateGpu(Machine& machine, LateLoads& late) : AdversaryGpu(machine), late_(&late) {}

    [[nodiscard]] Quad load_relaxed(Quad const* from) const {
        late_->some();
        return AdversaryGpu::load_relaxed(from);
    }
    using AdversaryGpu::load_acquire;
    void store_relaxed(std::uint64_t* to, std::uint64_t word) const {
        late_->some();
        AdversaryGpu::store_relaxed(to, word);
    }
    using AdversaryGpu::store_relaxed;
    void fence_system() const {
        late_->all();
        AdversaryGpu::fence_system();
    }

   private:
    LateLoads* late_;
};

// Gpu: a LateGpu.
template <class Gpu>
class ChunkScenario : public AdversaryWorld {
   public:
    struct Meta {
        std::uint64_t number;
        std::uint64_t words;

        static Meta make(std::uint64_t number, std::uint64_t words) { return {number, words}; }
        bool operator==(Meta const&) const = default;
    };

    explicit ChunkScenario(Policies const& policies)
        : AdversaryWorld(policies),
          late_(machine_),
          view_(draw_view()),
          producer_(view_, policies.host_far(), policies.host_near()),
          consumer_(view_, BasicDeviceNear(Gpu(machine_, late_)),
                    BasicDeviceFar(Gpu(machine_, late_))),
          count_(12 + machine_.random().below(9)),
          traffic_(*this, view_, count_) {}

    std::string run() {
        return machine_.run([this] { produce(); }, [this] { consume(); });
    }

    [[nodiscard]] GivenChunk draw_chunk(std::uint32_t /*number*/) const {
        return {machine_.random().one_in(5), 1 + machine_.random().below(4), 2 * sizeof(Line)};
    }
    void write_chunk(Sequence sequence, GivenChunk const& given) const {
        for (std::uint32_t i = 0; i != given.words; ++i) {
            std::uint64_t const number = value(sequence, i);
            machine_.store(Side::host, word(sequence, i), {&number, 1});
        }
    }
    void read_chunk(Sequence sequence, GivenChunk const& given) {
        for (std::uint32_t i = 0; i != given.words; ++i) {
            late_.issue(word(sequence, i), value(sequence, i));
        }
    }

    [[nodiscard]] bool claims() const { return machine_.random().one_in(2); }
    [[nodiscard]] std::optional<std::size_t> gives(std::size_t claimed, std::size_t filled) const {
        bool const now = claimed == view_.ring.capacity || filled == count_;
        if (claimed == 0 || !(now || machine_.random().one_in(3))) return {};
        return machine_.random().below(static_cast<std::uint32_t>(claimed));
    }
    [[nodiscard]] std::size_t releases(std::size_t held, bool came) const {
        if (held == 0 || (came && machine_.random().one_in(2))) return 0;
        return machine_.random().one_in(3) ? held : 1;  // up to the last, or the first
    }
    [[nodiscard]] static bool goes_on(std::uint32_t /*tries*/) { return true; }
    [[nodiscard]] bool takes_on(std::uint32_t /*tries*/) const { return !finished_; }
    void sent(bool /*any*/) const { machine_.pause(Side::host); }
    static void received(bool /*any*/) {}

   private:
    ChunkRingView draw_view() {
        Random& random = machine_.random();
        std::uint32_t const chunks = 2U << random.below(2);
        Sequence const first = random.one_in(2) ? 1 : (Sequence{1} << 32) - 1 - random.below(8);
        Line* const lines = machine_.device_lines();
        ChunkRingView const view{{lines, &machine_.host_lines()->quads[0].low, chunks, first},
                                 reinterpret_cast<std::byte*>(lines + 4),
                                 2 * sizeof(Line)};
        format_ring(view.ring);
        return view;
    }

    // Word `i` of those that are written: in both lines of the chunk, some in one quad.
    [[nodiscard]] std::uint64_t* word(Sequence sequence, std::uint32_t i) const {
        static constexpr std::array<std::uint32_t, 4> places{0, 1, 7, 14};
        return reinterpret_cast<std::uint64_t*>(view_.chunk(sequence)) + places.at(i);
    }
    static std::uint64_t value(Sequence sequence, std::uint32_t i) { return sequence << 8 | i; }

    void produce() {
        traffic_.produce(producer_);
        // Everything comes back without any further store by the producer.
        Sequence const last = view_.ring.first - 1 + count_;
        while (machine_.arrived(view_.ring.credit) != last) machine_.pause(Side::host);
        finished_ = true;
        use_up_all_room();
    }

    void use_up_all_room() {
        for (std::uint32_t i = 0; i != view_.ring.capacity; ++i) {
            // The credit is there, but a load may see it late.
            while (producer_.try_claim() == 0) machine_.pause(Side::host);
        }
        for (int look = 0; look != 8; ++look) {
            require(producer_.try_claim() == 0, "more room than chunks");
        }
    }

    void consume() {
        std::size_t const held = traffic_.consume(consumer_);
        require(held == 0, "{} chunks came back that were not released", held);
        require(traffic_.all_came(), "{} chunks came, the others did not", traffic_.taken());
    }

    LateLoads late_;
    ChunkRingView view_;
    ChunkProducer<Policies::HostFar, Policies::HostNear> producer_;
    ChunkConsumer<Meta, BasicDeviceNear<Gpu>, BasicDeviceFar<Gpu>> consumer_;
    std::size_t count_;
    ChunkTraffic<ChunkScenario> traffic_;
    bool finished_ = false;  // between the bodies, past the machine
};

}  // namespace carillon::test
