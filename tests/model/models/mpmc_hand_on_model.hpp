// SPDX-License-Identifier: Apache-2.0
// An MPMC ring of which one consumer ends and leaves its stripe to the other, as Relacy's threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/models/mpmc_traffic_model.hpp"

namespace carillon::test {
using namespace detail;

// MpmcToDevice or MpmcToHost with consumers that leave their stripes.
template <class Way>
struct LeavingConsumers {
    using Receiver = MpmcConsumer<Message, typename Way::ReceiverNear, typename Way::ReceiverFar,
                                  OneThread, true>;

    [[nodiscard]] static Receiver receiver(MpmcRingView const& view, ModelMemory& memory) {
        return Receiver(view, Way::receiver_near(memory), Way::receiver_far(memory));
    }
};

struct MpmcHandOn {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::uint32_t messages;
    std::uint32_t polls;  // of the consumer that ends
};

template <class Way, MpmcHandOn shape>
class MpmcHandOnModel : public rl::test_suite<MpmcHandOnModel<Way, shape>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    inline static std::uint32_t most_by_the_first = 0;  // over all executions of a search

    void before() {
        format_ring(view_);
        memory_.begin(shape.capacity, mpmc_words(shape.capacity));
        accesses_left = no_end;
    }

    void thread(unsigned index) {
        if (index == 0) return produce();
        index == 1 ? take_and_leave() : take_the_rest();
    }

    void after() {
        RL_ASSERT(taken_ == shape.messages);
        most_by_the_first = std::max(most_by_the_first, by_the_first_);
    }

   private:
    using Ends = LeavingConsumers<Way>;

    void produce() {
        auto sender = Way::sender(view_, memory_);
        for (std::uint32_t number = 1; number <= shape.messages; ++number) {
            data_.at(number)(RL_INFO) = number;
            while (!Way::push(sender, Message::make(number), OutOfLine::written)) {
                rl::yield(1, RL_INFO);
            }
            ++sent_;
            RL_ASSERT(sent_ - taken_ <= shape.capacity);  // nothing was overwritten
        }
    }

    void use(Message const& message) {
        auto const number = static_cast<std::uint32_t>(message.word[0]);
        RL_ASSERT(number >= 1 && number <= shape.messages && !was_taken_.at(number));
        RL_ASSERT(message == Message::make(number));
        RL_ASSERT(data_.at(number)(RL_INFO).load() == number);
        was_taken_[number] = true;
        ++taken_;
    }

    void take_and_leave() {
        auto receiver = Ends::receiver(view_, memory_);
        for (std::uint32_t polls = 0; polls != shape.polls; ++polls) {
            receiver.poll([&](Message const& message, Sequence) {
                use(message);
                ++by_the_first_;
            });
        }
        receiver.hand_on();
    }

    void take_the_rest() {
        auto receiver = Ends::receiver(view_, memory_);
        while (taken_ != shape.messages) {
            if (!receiver.poll([&](Message const& message, Sequence) { use(message); })) {
                rl::yield(1, RL_INFO);
            }
        }
    }

    ModelMemory memory_{QuadIs::one_access, first_and_last_quad};
    MpmcRingView view_ = mpmc_view(memory_, shape.capacity, shape.stripe_shift, 1);
    std::array<rl::var<std::uint32_t>, shape.messages + 1> data_;  // by number
    // The model's own, known to all threads at once.
    std::array<bool, shape.messages + 1> was_taken_{};
    std::uint32_t sent_ = 0;
    std::uint32_t taken_ = 0;
    std::uint32_t by_the_first_ = 0;
};

inline constexpr MpmcHandOn leaves_a_stripe_of_two{
    .capacity = 4, .stripe_shift = 1, .messages = 5, .polls = 2};
inline constexpr MpmcHandOn leaves_a_stripe_of_one{
    .capacity = 2, .stripe_shift = 0, .messages = 3, .polls = 2};

}  // namespace carillon::test
