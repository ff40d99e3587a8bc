// SPDX-License-Identifier: Apache-2.0
// What goes over a ring of chunks, in every world: under the adversary and under Relacy. Chunks are
// claimed, filled and committed or dropped, in any order; they are taken in order, hold still until
// they are released, and come back.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "carillon/detail/protocol/chunk_ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// How a chunk is given.
struct GivenChunk {
    bool dropped;
    std::uint32_t words;  // that are written
    std::uint32_t size;   // that is committed
};

// A world says what the protocol leaves open:
//   Meta::make(number, words)  what is told of a chunk
//   draw_chunk(number), write_chunk(sequence, given), read_chunk(sequence, given)
//   claims(), gives(claimed, filled), releases(held, came)  what an end does now
//   goes_on(tries) and takes_on(tries)  whether an end tries again
//   sent(any) and received(any)  one end has tried: lets the other go on
template <class World>
class ChunkTraffic {
   public:
    using Meta = typename World::Meta;

    ChunkTraffic(World& world, ChunkRingView const& view, std::size_t count)
        : world_(world), first_(view.ring.first), capacity_(view.ring.capacity), count_(count) {}

    template <class Producer>
    void produce(Producer& producer) {
        Sequences claimed;
        std::size_t given = 0;
        for (std::uint32_t tries = 0; given != count_ && world_.goes_on(tries); ++tries) {
            bool const wanted = filled() != count_ && world_.claims();
            Sequence const sequence = wanted ? producer.try_claim() : 0;
            if (sequence != 0) {
                fill(sequence);
                claimed.push_back(sequence);
            }
            while (auto const chosen = world_.gives(claimed.size(), filled())) {
                give(producer, claimed.at(*chosen));
                claimed.erase(claimed.begin() + *chosen);
                ++given;
            }
            world_.sent(sequence != 0);
        }
    }

    // Returns how many chunks are taken and not released.
    template <class Consumer>
    std::size_t consume(Consumer& consumer) {
        Sequences held;
        for (std::uint32_t tries = 0; world_.takes_on(tries); ++tries) {
            ChunkView<Meta> chunk{};
            bool const came = consumer.try_take(chunk);
            if (came) {
                check(chunk);
                held.push_back(chunk.sequence);
                world_.require(held.size() <= capacity_, "more chunks than there are");
                for (Sequence const each : held) world_.read_chunk(each, of(each));
            }
            std::size_t const released = world_.releases(held.size(), came);
            if (released != 0) {
                consumer.release(held.at(released - 1));
                held.erase(held.begin(), held.begin() + released);
            }
            world_.received(came);
        }
        return held.size();
    }

    [[nodiscard]] std::size_t filled() const { return given_.size(); }
    [[nodiscard]] std::size_t taken() const { return taken_; }
    // Whether all chunks that were not dropped came.
    [[nodiscard]] bool all_came() {
        pass_dropped();
        return expected_ == count_;
    }

   private:
    static constexpr std::size_t most_chunks = 20;
    // Not on the heap, which Relacy searches for leaks.
    using Sequences = boost::container::static_vector<Sequence, 4>;

    [[nodiscard]] GivenChunk const& of(Sequence sequence) const {
        return given_.at(sequence - first_);
    }
    static std::uint32_t number(std::size_t index) { return static_cast<std::uint32_t>(index + 1); }

    void fill(Sequence sequence) {
        world_.require(sequence == first_ + filled(), "chunk {} is not the next", sequence);
        given_.push_back(world_.draw_chunk(number(filled())));
        world_.write_chunk(sequence, of(sequence));
    }

    template <class Producer>
    void give(Producer const& producer, Sequence sequence) {
        GivenChunk const& chunk = of(sequence);
        if (chunk.dropped) return producer.drop(sequence);
        producer.commit(sequence, chunk.size, Meta::make(number(sequence - first_), chunk.words));
    }

    void pass_dropped() {
        while (expected_ != filled() && given_.at(expected_).dropped) ++expected_;
    }

    void check(ChunkView<Meta> const& chunk) {
        pass_dropped();
        world_.require(expected_ != filled() && chunk.sequence == first_ + expected_,
                       "chunk {} comes, not {}", chunk.sequence, first_ + expected_);
        GivenChunk const& given = given_.at(expected_);
        world_.require(
            chunk.size == given.size && chunk.meta == Meta::make(number(expected_), given.words),
            "chunk {} is wrong", chunk.sequence);
        ++expected_;
        ++taken_;
    }

    World& world_;
    Sequence first_;
    std::uint32_t capacity_;
    std::size_t count_;
    // Both ends know these, past the world's memory.
    boost::container::static_vector<GivenChunk, most_chunks> given_;
    std::size_t expected_ = 0;  // the index of the chunk that comes next
    std::size_t taken_ = 0;
};

}  // namespace carillon::test
