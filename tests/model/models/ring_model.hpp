// SPDX-License-Identifier: Apache-2.0
// A producer and a consumer of one ring, as Relacy's threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "carillon/detail/protocol/ring.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/search.hpp"
#include "model/machine/waiting.hpp"

namespace carillon::test {

// The same number in all words, so that a word of another message shows, and all quads are equal.
struct Message {
    std::uint32_t word[12];

    static Message make(std::uint32_t number) {
        Message message{};
        std::fill(std::begin(message.word), std::end(message.word), number);
        return message;
    }
    bool operator==(Message const&) const = default;
};

struct Traffic {
    std::uint32_t capacity;
    std::uint32_t messages;
    // How often each side tries in all; with no bound, it goes on until it has had all messages.
    std::uint32_t tries = 0;
    OutOfLine data = OutOfLine::none;
    Sequence first = 1;
};

// The device takes either page of each pair.
struct EitherPage {
    template <class Near>
    unsigned operator()(Near const& /*near*/, Word* /*first*/, std::size_t /*stride*/,
                        Word /*never*/) const {
        return rl::rand(2);
    }
};
using EitherPages = ChosenPages<EitherPage>;

template <class Way, Traffic traffic, class ProducerPages = FixedPages,
          class ConsumerPages = FixedPages>
class RingModel : public rl::test_suite<RingModel<Way, traffic, ProducerPages, ConsumerPages>, 2> {
   public:
    static constexpr unsigned depth_limit = 10000;
    // Over all executions of a search.
    inline static std::uint32_t most_taken = 0;

    void before() {
        if (ConsumerPages::paired) view_.pages = {memory_.words() + 1, nullptr, 0};
        format_ring(view_);
        memory_.begin(view_.lines(), 2);
    }

    void thread(unsigned index) { index == 0 ? produce() : consume(); }

    void after() { most_taken = std::max(most_taken, taken_); }

   private:
    using M = typename Way::Machine;

    using Side = Tries<traffic.tries>;

    void produce() {
        using Far = typename Way::SenderFar;
        using Near = typename Way::SenderNear;
        Producer<Message, Far, Near, NoDoorbell, OneThread, ProducerPages> producer(
            view_, M::template make<Far>(memory_), M::template make<Near>(memory_));
        for (std::uint32_t tries = 0; pushed_ < traffic.messages && Side::again(tries); ++tries) {
            std::uint32_t const number = pushed_ + 1;
            if (producer.was_full()) {
                Side::wait();
                continue;
            }
            if (traffic.data == OutOfLine::written) data_.at(pushed_)(RL_INFO) = number;
            RL_ASSERT(producer.try_push(Message::make(number), traffic.data));
            ++pushed_;
            RL_ASSERT(pushed_ - taken_ <= traffic.capacity);  // nothing was overwritten
        }
    }

    void consume() {
        using Near = typename Way::ReceiverNear;
        using Far = typename Way::ReceiverFar;
        Consumer<Message, Near, Far, OneThread, ConsumerPages> consumer(
            view_, M::template make<Near>(memory_), M::template make<Far>(memory_));
        for (std::uint32_t tries = 0; taken_ < traffic.messages && Side::again(tries); ++tries) {
            Message message{};
            if (!consumer.try_pop(message)) {
                Side::wait();
                continue;
            }
            RL_ASSERT(message == Message::make(taken_ + 1));
            if (traffic.data == OutOfLine::written) {
                RL_ASSERT(data_.at(taken_)(RL_INFO).load() == taken_ + 1);
            }
            ++taken_;
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    RingView view_{memory_.lines(), memory_.words(), traffic.capacity, traffic.first};
    std::array<rl::var<std::uint32_t>, traffic.messages> data_;
    // The model's own count, known to both threads at once.
    std::uint32_t pushed_ = 0;
    std::uint32_t taken_ = 0;
};

// For exhaustive searches: three messages use every slot, and one again. With four tries, either
// side may once, anywhere, find the ring full or empty; every execution ends, so that only safety
// is checked. 4 024 364 executions where a line is two quads: 10 s of one core at -O2.
inline constexpr Traffic few_tries{
    .capacity = 2, .messages = 3, .tries = 4, .data = OutOfLine::written};
// Nothing is released ahead of a line: 108 887 executions.
inline constexpr Traffic without_data{.capacity = 2, .messages = 3, .tries = 3};
// With endless tries a message that never comes is a livelock.
inline constexpr Traffic endless{.capacity = 2, .messages = 4, .data = OutOfLine::written};
// For random searches. The tags wrap on the way.
inline constexpr Sequence before_the_wrap = (Sequence{1} << 32) - 3;
inline constexpr Traffic four_slots{.capacity = 4, .messages = 6, .first = before_the_wrap};
// From eight slots on, credits are returned two and more at a time.
inline constexpr Traffic eight_slots{
    .capacity = 8, .messages = 12, .data = OutOfLine::written, .first = before_the_wrap};

// The same in pairs of pages of one slot: which are chosen when is a part of the search.
inline constexpr Traffic few_in_pairs{
    .capacity = 2, .messages = 2, .tries = 3, .data = OutOfLine::written};

template <class Way, Traffic traffic, class... Pages>
void expect_success(Search const& search) {
    using Model = RingModel<Way, traffic, Pages...>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, traffic.messages);  // or nothing was checked
}

}  // namespace carillon::test
