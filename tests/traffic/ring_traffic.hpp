// SPDX-License-Identifier: Apache-2.0
// What goes over a ring, in every world: messages 1, 2, 3 and so on, some with data out of line.
// Each arrives once, whole, in order and with its data; none is overwritten before it is taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// A world says what the protocol leaves open:
//   most_in_batch, most_in_row  messages that are pushed at once, or looked at at once
//   draw_batch(), draw_pop(), draw_row()  how many now; 0: one by the call that is for one
//   most_in_hand()  messages whose credit is on its way while the consumer has not counted them
//   write_data(number), read_data(number)
//   branch(line)  a branch has found a message of a row in the line
//   goes_on(tries) and takes_on(tries)  whether an end tries again
//   sent(any) and received(any)  one end has tried: lets the other go on
template <class World, class Message>
class RingTraffic {
   public:
    RingTraffic(World& world, RingView const& view, std::uint64_t count, OutOfLine data)
        : world_(world), capacity_(view.capacity), count_(count), data_(data) {}

    template <class Producer>
    void produce(Producer& producer) {
        for (std::uint32_t tries = 0; pushed_ != count_ && world_.goes_on(tries); ++tries) {
            bool const any = !producer.was_full();
            if (any) {
                std::uint64_t const batch = world_.draw_batch();
                pushed_ += batch == 0 ? push_one(producer)
                                      : push_batch(producer, std::min(batch, count_ - pushed_));
                world_.require(pushed_ - taken_ <= capacity_ + world_.most_in_hand(),
                               "{} pushed and {} taken", pushed_, taken_);
            }
            world_.sent(any);
        }
    }

    template <class Consumer>
    void consume(Consumer& consumer) {
        for (std::uint32_t tries = 0; world_.takes_on(tries); ++tries) {
            // After a row in vain, as a block does; and only this returns the last credit.
            bool const any = take_row(consumer) || take_some(consumer);
            world_.received(any);
        }
    }

    [[nodiscard]] std::uint64_t pushed() const { return pushed_; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] bool all_pushed() const { return pushed_ == count_; }
    [[nodiscard]] bool all_taken() const { return taken_ == count_; }

   private:
    template <class Producer>
    std::size_t push_one(Producer& producer) {
        write_data(pushed_ + 1);
        bool const pushed = producer.try_push(Message::make(pushed_ + 1), data_);
        world_.require(pushed, "a ring with room refuses message {}", pushed_ + 1);
        return 1;
    }

    // Sends as many messages as there is room for, at least one.
    template <class Producer>
    std::size_t push_batch(Producer& producer, std::uint64_t wanted) {
        std::array<Message, World::most_in_batch> batch{};
        for (std::size_t i = 0; i != wanted; ++i) batch.at(i) = Message::make(pushed_ + i + 1);
        write_data(pushed_ + wanted);
        std::size_t const pushed = producer.try_push_n(batch.data(), wanted, data_);
        world_.require(pushed != 0 && pushed <= wanted, "{} of {} pushed", pushed, wanted);
        return pushed;
    }

    // Once, however often the message is tried.
    void write_data(std::uint64_t up_to) {
        while (data_ == OutOfLine::written && written_ < up_to) world_.write_data(++written_);
    }

    template <class Consumer>
    bool take_row([[maybe_unused]] Consumer& consumer) {
        if constexpr (World::most_in_row == 0) {
            return false;
        } else {
            std::uint32_t const wanted = world_.draw_row();
            if (wanted == 0) return false;
            std::uint32_t next = 0;
            consumer.choose_pages();
            std::uint32_t const got = consumer.template try_consume_row<World::most_in_row>(
                wanted, [&](std::uint32_t i, Packed<Message> const& packed) {
                    world_.require(i == next++, "message {} of a row after {}", i, next);
                    world_.branch(consumer.awaited() + i);
                    check(unpack<Message>(packed));
                });
            world_.require(got == next && got <= wanted, "{} of {} taken", got, wanted);
            return got != 0;
        }
    }

    template <class Consumer>
    bool take_some(Consumer& consumer) {
        std::array<Message, 3> messages{};
        std::size_t const wanted = world_.draw_pop();
        std::size_t const got = wanted == 0 ? (consumer.try_pop(messages[0]) ? 1 : 0)
                                            : consumer.try_pop_n(messages.data(), wanted);
        for (std::size_t i = 0; i != got; ++i) check(messages.at(i));
        return got != 0;
    }

    void check(Message const& message) {
        world_.require(message == Message::make(taken_ + 1), "message {} is wrong", taken_ + 1);
        ++taken_;
        if (data_ == OutOfLine::written) world_.read_data(taken_);
    }

    World& world_;
    std::uint32_t capacity_;
    std::uint64_t count_;
    OutOfLine data_;
    std::uint64_t written_ = 0;  // messages whose data are there
    // Both ends know these, past the world's memory.
    std::uint64_t pushed_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace carillon::test
