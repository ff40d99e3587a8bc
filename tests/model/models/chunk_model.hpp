// SPDX-License-Identifier: Apache-2.0
// The two ends of a ring of chunks to the device, as Relacy's threads. Data are plain variables, so
// Relacy reports races: a line that overtakes its chunk, and a chunk that is written again while it
// is read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/search.hpp"
#include "model/machine/waiting.hpp"

namespace carillon::test {
using namespace detail;

struct ChunkTraffic {
    std::uint32_t chunks;
    // How often each side tries in all; with no bound, it goes on until it has had all chunks.
    std::uint32_t tries = 0;
    // Two are claimed at once, and committed the later one first.
    bool backwards = false;
    Sequence dropped = 0;  // one that is given up
    Sequence first = 1;
};

template <class M, ChunkTraffic traffic>
class ChunkModel : public rl::test_suite<ChunkModel<M, traffic>, 2> {
   public:
    static constexpr unsigned depth_limit = 20000;
    // Over all executions of a search.
    inline static std::uint32_t most_taken = 0;

    void before() {
        format_ring(view_.ring);
        memory_.begin(slots, 1);
    }

    void thread(unsigned index) { index == 0 ? produce() : consume(); }

    void after() { most_taken = std::max(most_taken, taken_); }

   private:
    static constexpr std::uint32_t slots = 2;

    // All quads of a line are equal: the state and the metadata together are the same three words
    // four times.
    struct Meta {
        std::uint32_t word[10];

        static Meta make(std::uint32_t number) {
            return {{number, number, 0, number, number, 0, number, number, 0, number}};
        }
        bool operator==(Meta const&) const = default;
    };

    using Side = Tries<traffic.tries>;
    static constexpr std::uint32_t number_of(Sequence sequence) {
        return static_cast<std::uint32_t>(sequence - traffic.first) + 1;
    }
    rl::var<std::uint32_t>& data(Sequence sequence) { return data_.at((sequence - 1) % slots); }

    using Sender = ChunkProducer<typename M::HostFar, typename M::HostNear>;

    void give(Sender const& producer, Sequence sequence) {
        std::uint32_t const number = number_of(sequence);
        if (number == traffic.dropped) return producer.drop(sequence);
        data(sequence)(RL_INFO) = number;
        producer.commit(sequence, number, Meta::make(number));
    }

    void produce() {
        using Far = typename M::HostFar;
        using Near = typename M::HostNear;
        Sender producer(view_, M::template make<Far>(memory_), M::template make<Near>(memory_));
        std::uint32_t given = 0;
        Sequence kept = 0;
        for (std::uint32_t tries = 0; given < traffic.chunks && Side::again(tries); ++tries) {
            Sequence const claimed = producer.try_claim();
            if (claimed == 0) {
                Side::wait();
                continue;
            }
            if (traffic.backwards && kept == 0 && number_of(claimed) < traffic.chunks) {
                kept = claimed;
                continue;
            }
            give(producer, claimed);
            ++given;
            if (kept == 0) continue;
            give(producer, kept);
            ++given;
            kept = 0;
        }
    }

    void consume() {
        using Near = typename M::DeviceNear;
        using Far = typename M::DeviceFar;
        ChunkConsumer<Meta, Near, Far> consumer(view_, M::template make<Near>(memory_),
                                                M::template make<Far>(memory_));
        constexpr std::uint32_t to_take = traffic.chunks - (traffic.dropped != 0 ? 1 : 0);
        Sequence held = 0;  // an earlier one that is released together with the next
        for (std::uint32_t tries = 0; taken_ < to_take && Side::again(tries); ++tries) {
            ChunkView<Meta> chunk{};
            if (!consumer.try_take(chunk)) {
                if (held != 0) consumer.release(std::exchange(held, 0));
                Side::wait();
                continue;
            }
            ++taken_;
            std::uint32_t const number = number_of(chunk.sequence);
            RL_ASSERT(number == taken_ + (traffic.dropped != 0 && traffic.dropped <= taken_));
            RL_ASSERT(chunk.size == number && chunk.meta == Meta::make(number));
            if (held != 0) check_data(held);
            check_data(chunk.sequence);
            held = std::exchange(held, chunk.sequence) == 0 ? chunk.sequence : 0;
            if (held == 0) consumer.release(chunk.sequence);
        }
    }

    void check_data(Sequence sequence) {
        RL_ASSERT(data(sequence)(RL_INFO).load() == number_of(sequence));
    }

    ModelMemory memory_{M::quad_is, M::quads};
    // The data's addresses do not matter: they are only flushed.
    ChunkRingView view_{{memory_.lines(), memory_.words(), slots, traffic.first},
                        reinterpret_cast<std::byte*>(memory_.lines()),
                        0};
    std::array<rl::var<std::uint32_t>, slots> data_;
    std::uint32_t taken_ = 0;  // the model's own count
};

// For exhaustive searches: a chunk is used again.
inline constexpr ChunkTraffic few_chunks{.chunks = 3, .tries = 4};
inline constexpr ChunkTraffic few_backwards{.chunks = 3, .tries = 4, .backwards = true};
inline constexpr ChunkTraffic few_and_one_dropped{.chunks = 3, .tries = 3, .dropped = 2};
// With endless tries a chunk that never comes, or never comes back, is a livelock. Four laps.
inline constexpr ChunkTraffic four_laps{.chunks = 8};
inline constexpr ChunkTraffic four_laps_backwards{
    .chunks = 8, .backwards = true, .dropped = 4, .first = (Sequence{1} << 32) - 3};

template <class M, ChunkTraffic traffic>
void expect_chunks(Search const& search) {
    using Model = ChunkModel<M, traffic>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, traffic.chunks - (traffic.dropped != 0 ? 1 : 0));
}

}  // namespace carillon::test
