// SPDX-License-Identifier: Apache-2.0
// An MPMC ring with two producers that live and a consumer, as Relacy's threads: to either side.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/mpmc_ring_model.hpp"
#include "model/models/ring_model.hpp"

namespace carillon::test {
using namespace detail;

struct MpmcTraffic {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::array<std::uint32_t, 2> messages;  // of each producer
    // The first line is there already, so that a slot is written again the sooner.
    bool one_is_there = false;
    // Every message is tried once, and the consumer polls so often; with no bound, each goes on
    // until it has had all messages.
    std::uint32_t polls = 0;
    OutOfLine data = OutOfLine::none;
    Quads quads = first_and_last_quad;
    Sequence first = 1;
};

// The types of the ends, by the direction of lines.
template <class FarCpu = RelacyCpu<WholeQuads>>
struct MpmcToDevice {
    using Far = BasicHostMapped<FarCpu>;
    using Near = BasicHostCached<SharingCpu>;
    using Sender = MpmcProducer<Message, Far, Near, NoRecord>;
    using ReceiverNear = BasicDeviceNear<ClaimingGpu>;
    using ReceiverFar = BasicDeviceFar<ClaimingGpu>;
    using Receiver = MpmcConsumer<Message, ReceiverNear, ReceiverFar, OneThread>;

    [[nodiscard]] static Sender sender(MpmcRingView const& view, ModelMemory& memory) {
        return Sender(view, Far(one_step, nullptr, nullptr, FarCpu(memory)),
                      Near(nullptr, SharingCpu(memory)));
    }
    [[nodiscard]] static Receiver receiver(MpmcRingView const& view, ModelMemory& memory) {
        return Receiver(view, receiver_near(memory), receiver_far(memory));
    }
    [[nodiscard]] static ReceiverNear receiver_near(ModelMemory& memory) {
        return ReceiverNear(ClaimingGpu(memory));
    }
    [[nodiscard]] static ReceiverFar receiver_far(ModelMemory& memory) {
        return ReceiverFar(ClaimingGpu(memory));
    }
    [[nodiscard]] static bool push(Sender& sender, Message const& message, OutOfLine data) {
        return sender.try_push(message, data);
    }
};

template <class Gpu = ClaimingGpu>
struct MpmcToHost {
    using Far = BasicDeviceFar<Gpu>;
    using Near = BasicDeviceNear<Gpu>;
    using Sender = LanesProducer<Message, Far, Near, OneThread>;
    using ReceiverNear = BasicHostCached<SharingCpu>;
    using ReceiverFar = BasicHostMapped<RelacyCpu<WholeQuads>>;
    using Receiver = MpmcConsumer<Message, ReceiverNear, ReceiverFar, OneThread>;

    [[nodiscard]] static Sender sender(MpmcRingView const& view, ModelMemory& memory) {
        return Sender(view, Far(Gpu(memory)), Near(Gpu(memory)));
    }
    [[nodiscard]] static Receiver receiver(MpmcRingView const& view, ModelMemory& memory) {
        return Receiver(view, receiver_near(memory), receiver_far(memory));
    }
    [[nodiscard]] static ReceiverNear receiver_near(ModelMemory& memory) {
        return ReceiverNear(nullptr, SharingCpu(memory));
    }
    [[nodiscard]] static ReceiverFar receiver_far(ModelMemory& memory) {
        return ReceiverFar(one_step, nullptr, nullptr, RelacyCpu<WholeQuads>(memory));
    }
    [[nodiscard]] static bool push(Sender& sender, Message const& message, OutOfLine data) {
        return sender.try_push(message, true, data);
    }
};

template <class Way, MpmcTraffic traffic>
class MpmcTrafficModel : public rl::test_suite<MpmcTrafficModel<Way, traffic>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    static constexpr std::uint32_t all_messages =
        traffic.messages[0] + traffic.messages[1] + (traffic.one_is_there ? 1 : 0);
    // Over all executions of a search.
    inline static std::uint32_t most_sent = 0;
    inline static std::uint32_t most_taken = 0;

    void before() {
        format_ring(view_);
        if (traffic.one_is_there) {
            view_.base[view_.index(traffic.first)] = pack(Message::make(0), tag_of(traffic.first));
            *view_.claimed = traffic.first;
        }
        memory_.begin(traffic.capacity, mpmc_words(traffic.capacity));
        accesses_left = no_end;
    }

    void thread(unsigned index) {
        if (index == 2) return consume();
        produce(index);
    }

    void after() {
        most_sent = std::max(most_sent, sent_);
        most_taken = std::max(most_taken, taken_);
    }

   private:
    using Side = Tries<traffic.polls>;
    // The number of message i of a producer; i counts from 1.
    static constexpr std::uint32_t number_of(std::size_t producer, std::uint32_t i) {
        return static_cast<std::uint32_t>(producer) * traffic.messages[0] + i + 1;
    }

    void produce(std::size_t producer) {
        auto sender = Way::sender(view_, memory_);
        for (std::uint32_t i = 0; i != traffic.messages[producer]; ++i) {
            std::uint32_t const number = number_of(producer, i);
            if (traffic.data == OutOfLine::written) data_.at(number)(RL_INFO) = number;
            while (!Way::push(sender, Message::make(number), traffic.data)) {
                if (traffic.polls != 0) return;
                Side::wait();
            }
            ++sent_;
            RL_ASSERT(sent_ - taken_ <= traffic.capacity);  // nothing was overwritten
        }
    }

    void consume() {
        auto receiver = Way::receiver(view_, memory_);
        std::array<std::uint32_t, 2> taken{};
        auto const use = [&](Message const& message, Sequence sequence) {
            RL_ASSERT(sequence == traffic.first + taken_);
            ++taken_;
            std::uint32_t number = 0;
            if (!traffic.one_is_there || sequence != traffic.first) {
                std::size_t const producer = message.word[0] > traffic.messages[0] ? 1 : 0;
                RL_ASSERT(taken.at(producer) != traffic.messages[producer]);
                number = number_of(producer, taken[producer]++);
                if (traffic.data == OutOfLine::written) {
                    RL_ASSERT(data_.at(number)(RL_INFO).load() == number);
                }
            }
            RL_ASSERT(message == Message::make(number));
        };
        for (std::uint32_t polls = 0; taken_ != all_messages && Side::again(polls); ++polls) {
            if (!receiver.poll(use)) Side::wait();
        }
    }

    ModelMemory memory_{QuadIs::one_access, traffic.quads};
    MpmcRingView view_ = mpmc_view(memory_, traffic.capacity, traffic.stripe_shift, traffic.first);
    std::array<rl::var<std::uint32_t>, all_messages + 1> data_;  // by number
    // The model's own count, known to all threads at once.
    std::uint32_t sent_ = traffic.one_is_there ? 1 : 0;
    std::uint32_t taken_ = 0;
};

// For exhaustive searches. A device's loads of data need two quads to be ordered, which is too
// much.
inline constexpr MpmcTraffic one_each{
    .capacity = 2, .stripe_shift = 0, .messages = {1, 1}, .polls = 2, .quads = first_quad};
inline constexpr MpmcTraffic one_each_with_data{.capacity = 2,
                                                .stripe_shift = 0,
                                                .messages = {1, 1},
                                                .polls = 2,
                                                .data = OutOfLine::written,
                                                .quads = first_quad};
// Two claim the free slot, and the other one once it is taken.
inline constexpr MpmcTraffic one_each_and_a_slot_again{.capacity = 2,
                                                       .stripe_shift = 0,
                                                       .messages = {1, 1},
                                                       .one_is_there = true,
                                                       .polls = 1,
                                                       .quads = first_quad};
// With endless polls a message that never comes is a livelock.
inline constexpr MpmcTraffic one_and_two{
    .capacity = 2, .stripe_shift = 0, .messages = {1, 2}, .data = OutOfLine::written};
// For random searches. The tags wrap on the way.
inline constexpr MpmcTraffic four_each{.capacity = 4,
                                       .stripe_shift = 1,
                                       .messages = {4, 4},
                                       .data = OutOfLine::written,
                                       .quads = all_quads,
                                       .first = (Sequence{1} << 32) - 3};

}  // namespace carillon::test
