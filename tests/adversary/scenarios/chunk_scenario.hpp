// SPDX-License-Identifier: Apache-2.0
// A ring of chunks to the device, with everything that it promises checked: above all that a chunk
// holds still from its commit to its release.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "adversary/machine/seeds.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"

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
class ChunkScenario {
   public:
    explicit ChunkScenario(Policies const& policies)
        : machine_(policies.machine()),
          late_(machine_),
          view_(draw_view()),
          producer_(view_, policies.host_far(), policies.host_near()),
          consumer_(view_, BasicDeviceNear(Gpu(machine_, late_)),
                    BasicDeviceFar(Gpu(machine_, late_))),
          count_(12 + machine_.random().below(9)) {}

    std::string run() {
        return machine_.run([this] { produce(); }, [this] { consume(); });
    }

   private:
    struct Meta {
        std::uint64_t number;
        std::uint64_t words;
    };
    struct Given {
        bool dropped;
        std::uint32_t words;
    };

    static constexpr std::size_t words_per_chunk = 2 * cells_per_line;

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

    [[nodiscard]] Given const& given(Sequence sequence) const {
        return given_.at(sequence - view_.ring.first);
    }
    // Word `i` of those that are written: in both lines of the chunk, some in one quad.
    [[nodiscard]] std::uint64_t* word(Sequence sequence, std::uint32_t i) const {
        static constexpr std::array<std::uint32_t, 4> places{0, 1, 7, 14};
        return reinterpret_cast<std::uint64_t*>(view_.chunk(sequence)) + places.at(i);
    }
    static std::uint64_t value(Sequence sequence, std::uint32_t i) { return sequence << 8 | i; }

    void produce() {
        std::vector<Sequence> claimed;
        while (given_.size() != count_ || !claimed.empty()) {
            if (given_.size() != count_ && machine_.random().one_in(2)) {
                Sequence const sequence = producer_.try_claim();
                if (sequence != 0) {
                    fill(sequence);
                    claimed.push_back(sequence);
                }
            }
            if (!claimed.empty() && (claimed.size() == view_.ring.capacity ||
                                     given_.size() == count_ || machine_.random().one_in(3))) {
                auto const chosen =
                    claimed.begin() +
                    machine_.random().below(static_cast<std::uint32_t>(claimed.size()));
                give(*chosen);
                claimed.erase(chosen);
            }
            machine_.pause(Side::host);
        }
        // Everything comes back without any further store by the producer.
        Sequence const last = view_.ring.first - 1 + count_;
        while (machine_.arrived(view_.ring.credit) != last) machine_.pause(Side::host);
        finished_ = true;
        use_up_all_room();
    }

    void fill(Sequence sequence) {
        machine_.require(sequence == view_.ring.first + given_.size(), "chunk {} is not the next",
                         sequence);
        Given const chunk{machine_.random().one_in(5), 1 + machine_.random().below(4)};
        given_.push_back(chunk);
        for (std::uint32_t i = 0; i != chunk.words; ++i) {
            std::uint64_t const number = value(sequence, i);
            machine_.store(Side::host, word(sequence, i), {&number, 1});
        }
    }

    void give(Sequence sequence) {
        Given const chunk = given(sequence);
        if (chunk.dropped) return producer_.drop(sequence);
        producer_.commit(sequence, words_per_chunk * sizeof(std::uint64_t),
                         Meta{sequence, chunk.words});
    }

    void use_up_all_room() {
        for (std::uint32_t i = 0; i != view_.ring.capacity; ++i) {
            // The credit is there, but a load may see it late.
            while (producer_.try_claim() == 0) machine_.pause(Side::host);
        }
        for (int look = 0; look != 8; ++look) {
            machine_.require(producer_.try_claim() == 0, "more room than chunks");
        }
    }

    void consume() {
        std::deque<Sequence> held;
        while (!finished_) {
            ChunkView<Meta> chunk{};
            if (consumer_.try_take(chunk)) {
                check(chunk);
                held.push_back(chunk.sequence);
                machine_.require(held.size() <= view_.ring.capacity, "more chunks than there are");
                if (machine_.random().one_in(2)) continue;
            }
            if (held.empty()) continue;
            std::size_t const released =
                machine_.random().one_in(3) ? held.size() : 1;  // up to the last, or the first
            consumer_.release(held[released - 1]);
            held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(released));
        }
        machine_.require(held.empty(), "a chunk came back that was not released");
        while (expected_ != view_.ring.first + count_ && given(expected_).dropped) ++expected_;
        machine_.require(expected_ == view_.ring.first + count_, "chunk {} did not come",
                         expected_);
    }

    void check(ChunkView<Meta> const& chunk) {
        while (given(expected_).dropped) ++expected_;
        machine_.require(chunk.sequence == expected_, "chunk {} comes, not {}", chunk.sequence,
                         expected_);
        machine_.require(
            chunk.meta.number == expected_ && chunk.meta.words == given(expected_).words,
            "chunk {} is wrong", expected_);
        for (std::uint32_t i = 0; i != chunk.meta.words; ++i) {
            late_.issue(word(expected_, i), value(expected_, i));
        }
        ++expected_;
    }

    Machine& machine_;
    LateLoads late_;
    ChunkRingView view_;
    ChunkProducer<Policies::HostFar, Policies::HostNear> producer_;
    ChunkConsumer<Meta, BasicDeviceNear<Gpu>, BasicDeviceFar<Gpu>> consumer_;
    std::size_t count_;
    // Between the bodies, past the machine.
    std::vector<Given> given_;
    Sequence expected_ = view_.ring.first;
    bool finished_ = false;
};

}  // namespace carillon::test
