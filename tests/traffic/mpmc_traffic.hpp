// SPDX-License-Identifier: Apache-2.0
// What goes over a ring that many share, in every world: message i of producer p. Each is taken
// once, whole, with its data, and has its place in the ring behind its producer's earlier ones;
// none is overwritten before it is taken. A world requires all_taken() at its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

struct MpmcOrigin {
    std::uint64_t producer;
    std::uint64_t index;
};

// A world says what the protocol leaves open:
//   message(producer, index), origin(message)  what they are
//   most_in_batch, draw_batch(left)  messages that are pushed at once
//   has_one()  whether a thread of the device has a message when it pushes
//   data_of(producer), write_data(producer, index), read_data(producer, index)
template <class World, class Message>
class MpmcTraffic {
   public:
    static constexpr std::size_t most_producers = 3;
    static constexpr std::size_t most_messages = 8;  // of each
    using Counts = std::array<std::uint32_t, most_producers>;

    MpmcTraffic(World& world, std::uint32_t capacity, Counts const& counts)
        : world_(world), capacity_(capacity), counts_(counts) {}

    // The first producer's first message is there already.
    void begin_with_one() { ++pushed_[0]; }

    // `full()`: the ring had no room; returns whether the producer tries again.
    template <class Producer, class Full>
    void produce(unsigned producer, Producer& end, Full full) {
        std::uint32_t& pushed = pushed_.at(producer);
        std::uint32_t written = pushed;
        while (pushed != counts_.at(producer)) {
            std::uint32_t const most = world_.draw_batch(counts_[producer] - pushed);
            for (; written < pushed + most; ++written) world_.write_data(producer, written);
            std::uint32_t const fit = push(end, producer, most);
            pushed += fit;
            world_.require(this->pushed() <= taken() + capacity_, "{} pushed and {} taken",
                           this->pushed(), taken());
            if (fit == 0 && !full()) return;
        }
    }

    void take(Message const& message, Sequence sequence) {
        auto const [producer, index] = world_.origin(message);
        world_.require(producer < most_producers && index < counts_.at(producer) &&
                           message == world_.message(producer, index),
                       "a message is wrong: producer {}, index {}", producer, index);
        for (std::size_t p = 0; p != most_producers; ++p) {
            for (std::size_t i = 0; i != counts_[p]; ++i) {
                Sequence const other = sequences_[p][i];
                if (other == 0) continue;
                world_.require(other != sequence, "{} was taken twice", sequence);
                world_.require(p != producer || (i != index && (other < sequence) == (i < index)),
                               "producer {}'s message {} is before or behind {}", p, index, i);
            }
        }
        sequences_.at(producer).at(index) = sequence;
        ++taken_.at(producer);
        world_.read_data(producer, index);
    }

    [[nodiscard]] std::uint32_t pushed() const { return sum(pushed_); }
    [[nodiscard]] std::uint32_t taken() const { return sum(taken_); }
    [[nodiscard]] std::uint32_t taken(std::size_t producer) const { return taken_.at(producer); }
    // Whether all messages of the producers from `first` on were taken.
    [[nodiscard]] bool all_taken(std::size_t first) const {
        for (std::size_t i = first; i != most_producers; ++i) {
            if (taken_.at(i) != counts_.at(i)) return false;
        }
        return true;
    }

   private:
    static std::uint32_t sum(Counts const& counts) {
        return std::accumulate(counts.begin(), counts.end(), 0U);
    }

    // Returns how many were pushed.
    template <class Producer>
    std::uint32_t push(Producer& end, unsigned producer, std::uint32_t most) {
        OutOfLine const data = world_.data_of(producer);
        std::array<Message, World::most_in_batch> batch{};
        for (std::uint32_t i = 0; i != most; ++i) {
            batch.at(i) = world_.message(producer, pushed_.at(producer) + i);
        }
        if constexpr (requires { end.try_push(batch[0], true, data); }) {
            bool const has_one = world_.has_one();
            return end.try_push(batch[0], has_one, data) && has_one ? 1 : 0;
        } else {
            if (most == 1) return end.try_push(batch[0], data) ? 1 : 0;
            return static_cast<std::uint32_t>(end.try_push_n(batch.data(), most, data));
        }
    }

    World& world_;
    std::uint32_t capacity_;
    Counts counts_;
    // All ends know these, past the world's memory.
    Counts pushed_{};
    Counts taken_{};
    // Where each message was in the ring.
    std::array<std::array<Sequence, most_messages>, most_producers> sequences_{};
};

}  // namespace carillon::test
