// SPDX-License-Identifier: Apache-2.0
// MpmcTraffic to either side by Relacy's threads, none of which dies: two producers and a consumer,
// or a producer and two consumers. One of these ends and leaves its stripe to the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/machine/group.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/mpmc_ring_model.hpp"
#include "model/models/ring_model.hpp"

namespace carillon::test {
using namespace detail;

struct MpmcPlan {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::array<std::uint32_t, 2> messages;  // of each producer
    // The first message is there already, so that a slot is written again the sooner.
    bool one_is_there = false;
    // Every message is tried once, and the consumer polls so often; with no bound, each goes on
    // until it has had all messages.
    std::uint32_t polls = 0;
    OutOfLine data = OutOfLine::none;
    Quads quads = first_and_last_quad;
    Sequence first = 1;
    std::uint32_t polls_of_the_first = 0;  // of two consumers: the first then ends
};

// The types of the ends, by the direction of lines.
template <class FarCpu = RelacyCpu<WholeQuads>>
struct MpmcToDevice {
    using Far = BasicHostMapped<FarCpu>;
    using Near = BasicHostCached<SharingCpu>;
    using Sender = MpmcProducer<Message, Far, Near, NoRecord>;
    using ReceiverNear = BasicDeviceNear<ClaimingGpu>;
    using ReceiverFar = BasicDeviceFar<ClaimingGpu>;

    [[nodiscard]] static Sender sender(MpmcRingView const& view, ModelMemory& memory) {
        return Sender(view, Far(one_step, nullptr, nullptr, FarCpu(memory)),
                      Near(nullptr, SharingCpu(memory)));
    }
    [[nodiscard]] static ReceiverNear receiver_near(ModelMemory& memory) {
        return ReceiverNear(ClaimingGpu(memory));
    }
    [[nodiscard]] static ReceiverFar receiver_far(ModelMemory& memory) {
        return ReceiverFar(ClaimingGpu(memory));
    }
};

template <class Gpu = ClaimingGpu>
struct MpmcToHost {
    using Far = BasicDeviceFar<Gpu>;
    using Near = BasicDeviceNear<Gpu>;
    using Sender = LanesProducer<Message, Far, Near, OneThread>;
    using ReceiverNear = BasicHostCached<SharingCpu>;
    using ReceiverFar = BasicHostMapped<RelacyCpu<WholeQuads>>;

    [[nodiscard]] static Sender sender(MpmcRingView const& view, ModelMemory& memory) {
        return Sender(view, Far(Gpu(memory)), Near(Gpu(memory)));
    }
    [[nodiscard]] static ReceiverNear receiver_near(ModelMemory& memory) {
        return ReceiverNear(nullptr, SharingCpu(memory));
    }
    [[nodiscard]] static ReceiverFar receiver_far(ModelMemory& memory) {
        return ReceiverFar(one_step, nullptr, nullptr, RelacyCpu<WholeQuads>(memory));
    }
};

template <class Way, MpmcPlan plan>
class MpmcTrafficModel : public rl::test_suite<MpmcTrafficModel<Way, plan>, 3>,
                         public MpmcNumbers<Message, plan.messages[0]> {
   public:
    static constexpr unsigned depth_limit = 10000;
    static constexpr std::uint32_t all_messages = plan.messages[0] + plan.messages[1];
    // Over all executions of a search.
    inline static std::uint32_t most_sent = 0;
    inline static std::uint32_t most_taken = 0;
    inline static std::uint32_t most_by_the_first = 0;  // of two consumers

    void before() {
        format_ring(view_);
        if (plan.one_is_there) {
            view_.base[view_.index(plan.first)] = pack(this->message(0, 0), tag_of(plan.first));
            *view_.claimed = plan.first;
            traffic_.begin_with_one();
        }
        memory_.begin(plan.capacity, mpmc_words(plan.capacity));
        accesses_left = no_end;
    }

    void thread(unsigned index) {
        if (index == 2) return consume();
        if constexpr (is_left) {
            if (index == 1) return take_and_leave();
        }
        produce(index);
    }

    void after() {
        most_sent = std::max(most_sent, traffic_.pushed());
        most_taken = std::max(most_taken, traffic_.taken());
        most_by_the_first = std::max(most_by_the_first, by_the_first_);
    }

    [[nodiscard]] static OutOfLine data_of(unsigned /*producer*/) { return plan.data; }
    void write_data(std::uint64_t producer, std::uint64_t index) {
        if (plan.data == OutOfLine::none) return;
        std::uint64_t const number = this->number(producer, index);
        data_.at(number)(RL_INFO) = number;
    }
    void read_data(std::uint64_t producer, std::uint64_t index) {
        if (plan.data == OutOfLine::none) return;
        std::uint64_t const number = this->number(producer, index);
        RL_ASSERT(data_.at(number)(RL_INFO).load() == number);
    }

   private:
    using Side = Tries<plan.polls>;
    static constexpr bool is_left = plan.polls_of_the_first != 0;
    using Receiver = MpmcConsumer<Message, typename Way::ReceiverNear, typename Way::ReceiverFar,
                                  OneThread, is_left>;

    [[nodiscard]] Receiver receiver() {
        return Receiver(view_, Way::receiver_near(memory_), Way::receiver_far(memory_));
    }

    void produce(unsigned producer) {
        auto sender = Way::sender(view_, memory_);
        traffic_.produce(producer, sender, [] {
            Side::wait();
            return plan.polls == 0;
        });
    }

    bool poll(Receiver& receiver, std::uint32_t& taken) {
        return receiver.poll([&](Message const& message, Sequence sequence) {
            RL_ASSERT(is_left || sequence == plan.first + traffic_.taken());
            traffic_.take(message, sequence);
            ++taken;
        });
    }

    void consume() {
        Receiver receiver = this->receiver();
        std::uint32_t taken = 0;
        for (std::uint32_t polls = 0; !traffic_.all_taken(0) && Side::again(polls); ++polls) {
            if (!poll(receiver, taken)) Side::wait();
        }
    }

    void take_and_leave() {
        Receiver receiver = this->receiver();
        for (std::uint32_t polls = 0; polls != plan.polls_of_the_first; ++polls) {
            poll(receiver, by_the_first_);
        }
        receiver.hand_on();
    }

    ModelMemory memory_{QuadIs::one_access, plan.quads};
    MpmcRingView view_ = mpmc_view(memory_, plan.capacity, plan.stripe_shift, plan.first);
    std::array<rl::var<std::uint64_t>, all_messages + 1> data_;  // by number
    MpmcTraffic<MpmcTrafficModel, Message> traffic_{
        *this, plan.capacity, {plan.messages[0], plan.messages[1]}};
    std::uint32_t by_the_first_ = 0;
};

// For exhaustive searches. A device's loads of data need two quads to be ordered, which is too
// much.
inline constexpr MpmcPlan one_each{
    .capacity = 2, .stripe_shift = 0, .messages = {1, 1}, .polls = 2, .quads = first_quad};
inline constexpr MpmcPlan one_each_with_data{.capacity = 2,
                                             .stripe_shift = 0,
                                             .messages = {1, 1},
                                             .polls = 2,
                                             .data = OutOfLine::written,
                                             .quads = first_quad};
// Two claim the free slot, and the other one once it is taken.
inline constexpr MpmcPlan one_each_and_a_slot_again{.capacity = 2,
                                                    .stripe_shift = 0,
                                                    .messages = {2, 1},
                                                    .one_is_there = true,
                                                    .polls = 1,
                                                    .quads = first_quad};
// With endless polls a message that never comes is a livelock.
inline constexpr MpmcPlan one_and_two{
    .capacity = 2, .stripe_shift = 0, .messages = {1, 2}, .data = OutOfLine::written};
// For random searches. The tags wrap on the way.
inline constexpr MpmcPlan four_each{.capacity = 4,
                                    .stripe_shift = 1,
                                    .messages = {4, 4},
                                    .data = OutOfLine::written,
                                    .quads = all_quads,
                                    .first = (Sequence{1} << 32) - 3};
inline constexpr MpmcPlan leaves_a_stripe_of_two{.capacity = 4,
                                                 .stripe_shift = 1,
                                                 .messages = {5, 0},
                                                 .data = OutOfLine::written,
                                                 .polls_of_the_first = 2};
inline constexpr MpmcPlan leaves_a_stripe_of_one{.capacity = 2,
                                                 .stripe_shift = 0,
                                                 .messages = {3, 0},
                                                 .data = OutOfLine::written,
                                                 .polls_of_the_first = 2};

}  // namespace carillon::test
