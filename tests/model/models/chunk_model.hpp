// SPDX-License-Identifier: Apache-2.0
// ChunkTraffic to the device, with its ends as Relacy's threads. Data are plain variables, so
// Relacy reports races: a line that overtakes its chunk, and a chunk that is written again while it
// is read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/search.hpp"
#include "model/machine/waiting.hpp"
#include "traffic/chunk_traffic.hpp"

namespace carillon::test {
using namespace detail;

struct ChunkPlan {
    std::uint32_t chunks;
    // How often each side tries in all; with no bound, it goes on until it has had all chunks.
    std::uint32_t tries = 0;
    // Two are claimed at once, and committed the later one first.
    bool backwards = false;
    Sequence dropped = 0;  // one that is given up
    Sequence first = 1;

    [[nodiscard]] constexpr std::uint32_t to_take() const {
        return chunks - (dropped != 0 ? 1 : 0);
    }
};

template <class M, ChunkPlan plan>
class ChunkModel : public rl::test_suite<ChunkModel<M, plan>, 2>, public ModelWorld<plan.tries> {
   public:
    static constexpr unsigned depth_limit = 20000;
    // Over all executions of a search.
    inline static std::size_t most_taken = 0;

    // All quads of a line are equal: the state and the metadata together are the same three words
    // four times.
    struct Meta {
        std::uint32_t word[10];

        static Meta make(std::uint32_t number, std::uint32_t /*words*/) {
            return {{number, number, 0, number, number, 0, number, number, 0, number}};
        }
        bool operator==(Meta const&) const = default;
    };

    void before() {
        format_ring(view_.ring);
        memory_.begin(slots, 1);
    }

    void thread(unsigned index) {
        if (index == 0) {
            Producer producer(view_, M::template make<typename M::HostFar>(memory_),
                              M::template make<typename M::HostNear>(memory_));
            traffic_.produce(producer);
        } else {
            Consumer consumer(view_, M::template make<typename M::DeviceNear>(memory_),
                              M::template make<typename M::DeviceFar>(memory_));
            traffic_.consume(consumer);
        }
    }

    void after() { most_taken = std::max(most_taken, traffic_.taken()); }

    [[nodiscard]] static GivenChunk draw_chunk(std::uint32_t number) {
        return {number == plan.dropped, number, number};
    }
    void write_chunk(Sequence sequence, GivenChunk const& given) {
        data(sequence)(RL_INFO) = given.words;
    }
    void read_chunk(Sequence sequence, GivenChunk const& given) {
        RL_ASSERT(data(sequence)(RL_INFO).load() == given.words);
    }

    [[nodiscard]] static bool claims() { return true; }
    [[nodiscard]] static std::optional<std::size_t> gives(std::size_t claimed, std::size_t filled) {
        bool const waits = plan.backwards && filled % 2 != 0 && filled != plan.chunks;
        return claimed == 0 || waits ? std::nullopt : std::optional(claimed - 1);
    }
    // Two together.
    [[nodiscard]] static std::size_t releases(std::size_t held, bool came) {
        return came && held == 1 ? 0 : held;
    }
    [[nodiscard]] bool takes_on(std::uint32_t tries) const {
        return traffic_.taken() != plan.to_take() && this->goes_on(tries);
    }
    static void sent(bool any) { ChunkModel::tried(any); }
    static void received(bool any) { ChunkModel::tried(any); }

   private:
    using Producer = ChunkProducer<typename M::HostFar, typename M::HostNear>;
    using Consumer = ChunkConsumer<Meta, typename M::DeviceNear, typename M::DeviceFar>;
    static constexpr std::uint32_t slots = 2;

    rl::var<std::uint32_t>& data(Sequence sequence) { return data_.at((sequence - 1) % slots); }

    ModelMemory memory_{M::quad_is, M::quads};
    // The data's addresses do not matter: they are only flushed.
    ChunkRingView view_{{memory_.lines(), memory_.words(), slots, plan.first},
                        reinterpret_cast<std::byte*>(memory_.lines()),
                        0};
    std::array<rl::var<std::uint32_t>, slots> data_;
    ChunkTraffic<ChunkModel> traffic_{*this, view_, plan.chunks};
};

// For exhaustive searches: a chunk is used again.
inline constexpr ChunkPlan few_chunks{.chunks = 3, .tries = 4};
inline constexpr ChunkPlan few_backwards{.chunks = 3, .tries = 4, .backwards = true};
inline constexpr ChunkPlan few_and_one_dropped{.chunks = 3, .tries = 3, .dropped = 2};
// With endless tries a chunk that never comes, or never comes back, is a livelock. Four laps.
inline constexpr ChunkPlan four_laps{.chunks = 8};
inline constexpr ChunkPlan four_laps_backwards{
    .chunks = 8, .backwards = true, .dropped = 4, .first = (Sequence{1} << 32) - 3};

template <class M, ChunkPlan plan>
void expect_chunks(Search const& search) {
    using Model = ChunkModel<M, plan>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, plan.to_take());
}

}  // namespace carillon::test
