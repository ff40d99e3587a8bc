// SPDX-License-Identifier: Apache-2.0
// An MPMC ring with two producers and a consumer, as Relacy's threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/mpmc_ring.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/ring_model.hpp"

namespace carillon::test {

struct ThreadDied {};

// Accesses that the first thread has left; the others live on.
inline constexpr unsigned no_end = ~0U;
inline unsigned accesses_left = no_end;

inline void live() {
    if (rl::thread_index() == 0 && accesses_left-- == 0) throw ThreadDied();
}

// A CPU thread on memory that CPU threads share, cached: x86 keeps the order of its stores there.
class SharingCpu : public RelacyCpu<WholeQuads> {
   public:
    explicit SharingCpu(ModelMemory& memory) : RelacyCpu(memory), memory_(&memory) {}

    void store_word(Word* to, Word word) const {
        live();
        access_.store(to, word, rl::mo_release);
    }
    [[nodiscard]] Word load_word(Word const* from) const {
        live();
        return RelacyCpu::load_word(from);
    }
    [[nodiscard]] Word compare_exchange(Word* to, Word expected, Word desired) const {
        return exchange(to, expected, desired, rl::mo_acq_rel);
    }
    [[nodiscard]] Word fetch_add(Word* to, Word addend) const {
        return memory_->at(to).fetch_add(addend, rl::mo_acq_rel, RL_INFO);
    }

   protected:
    Word exchange(Word* to, Word expected, Word desired, rl::memory_order order) const {
        live();
        memory_->at(to).compare_exchange_strong(expected, desired, order, RL_INFO);
        return expected;
    }

   private:
    ModelMemory* memory_;
};

// The same on memory of the device.
class MortalCpu : public RelacyCpu<WholeQuads> {
   public:
    using RelacyCpu::RelacyCpu;
    void store_line(StoreKind kind, Line* to, Line const& line) const {
        live();
        RelacyCpu::store_line(kind, to, line);
    }
    static void store_fence() {
        live();
        RelacyCpu::store_fence();
    }
};

class ClaimingGpu : public RelacyGpu<WholeQuads> {
   public:
    explicit ClaimingGpu(ModelMemory& memory) : RelacyGpu(memory), memory_(&memory) {}
    [[nodiscard]] Word fetch_add(Word* to, Word addend) const {
        return memory_->at(to).fetch_add(addend, rl::mo_relaxed, RL_INFO);
    }
    [[nodiscard]] Word compare_exchange(Word* to, Word expected, Word desired) const {
        memory_->at(to).compare_exchange_strong(expected, desired, rl::mo_relaxed, RL_INFO);
        return expected;
    }

   private:
    ModelMemory* memory_;
};

static_assert(CpuClaims<SharingCpu> && CpuMappedStores<MortalCpu> && GpuClaims<ClaimingGpu>);

// Looks for numbers that were given up whenever it finds nothing.
struct LookingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
};

}  // namespace carillon::test

namespace carillon {

template <>
inline constexpr std::uint32_t polls_per_look<BasicDeviceNear<test::LookingGpu>> = 1;

}  // namespace carillon

namespace carillon::test {

struct MpmcShape {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::uint32_t messages;  // of the second producer; the first has one
    Sequence first = 1;
    bool gives_up_for_a_third = true;
    bool in_two_lines = false;
};

// The words of an MPMC ring: claimed and taken, the credits, the numbers given up.
inline constexpr std::size_t mpmc_words(std::uint32_t capacity) { return 2 + 2 * capacity; }

[[nodiscard]] inline MpmcRingView mpmc_view(ModelMemory& memory, std::uint32_t capacity,
                                            std::uint32_t stripe_shift, Sequence first,
                                            MessageShape shape = {}) {
    Word* const words = memory.words();
    return {memory.lines(), words + 2 + capacity, words + 1, words, words + 2,
            capacity,       stripe_shift,         first,     shape};
}

// The first producer may die at any access. The other one gives up what the dead one held, and, if
// asked to, does so now and then while nobody has died, as it would for a third.
// NearCpu: SharingCpu, or one that is broken. Far: the producers' far policy.
template <MpmcShape shape, class NearCpu = SharingCpu, class Far = BasicHostMapped<MortalCpu>>
class MpmcRingModel : public rl::test_suite<MpmcRingModel<shape, NearCpu, Far>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    // Over all executions of a search.
    inline static std::uint64_t deaths = 0;
    inline static std::uint64_t skips = 0;

    void before() {
        format_ring(view_);
        memory_.begin(shape.capacity * slot_lines_of<Message>, mpmc_words(shape.capacity));
        for (int i = 0; i < 2; ++i) {
            *record(i) = {ProducerRecord::none, 0};
            memory_.begin(record(i)->begin);
            memory_.begin(record(i)->end);
        }
        ended_(RL_INFO) = alive;
        accesses_left = rl::rand(accesses_of_a_push + 1);
    }

    void thread(unsigned index) {
        if (index == 0) return die_or_push();
        if (index == 1) return push_and_give_up();
        consume();
    }

   private:
    using Message = std::conditional_t<shape.in_two_lines, TwoLines, MessageOf<12>>;
    using Near = BasicHostCached<NearCpu>;
    using End = MpmcProducer<Message, Far, Near, ClaimRecord>;
    static constexpr unsigned accesses_of_a_push = 8 + lines_of<Message>;
    enum : unsigned { alive, dead, well };

    [[nodiscard]] ProducerRecord* record(int i) {
        return reinterpret_cast<ProducerRecord*>(memory_.words() + 32 + 16 * i);
    }
    [[nodiscard]] Far far() {
        return Far(BasicHostMapped<MortalCpu>(one_step, nullptr, nullptr, MortalCpu(memory_)));
    }
    [[nodiscard]] Near near() { return Near(nullptr, NearCpu(memory_)); }
    [[nodiscard]] End end(int i) { return End(view_, far(), near(), ClaimRecord(record(i))); }

    void die_or_push() {
        try {
            End producer = end(0);
            while (!producer.try_push(Message::make(1))) rl::yield(1, RL_INFO);
            accesses_left = no_end;
            ended_(RL_INFO).store(well, rl::mo_release);
        } catch (ThreadDied const&) {
            ++deaths;
            // What it had in its buffers has left, and the kernel tells of its death.
            ended_(RL_INFO).store(dead, rl::mo_release);
            died_ = true;
        }
    }

    void push_and_give_up() {
        End producer = end(1);
        for (std::uint32_t i = 0; i != shape.messages; ++i) {
            if (shape.gives_up_for_a_third && rl::rand(2) == 0) (void)give_up();
            data_.at(i)(RL_INFO) = 2 + i;
            while (!producer.try_push(Message::make(2 + i), OutOfLine::written)) {
                if (ended_(RL_INFO).load(rl::mo_acquire) == dead) (void)give_up();
                rl::yield(1, RL_INFO);
            }
        }
        while (ended_(RL_INFO).load(rl::mo_acquire) == alive) rl::yield(1, RL_INFO);
        while (!give_up()) rl::yield(1, RL_INFO);
    }

    bool give_up() {
        bool const is_dead = ended_(RL_INFO).load(rl::mo_acquire) == dead;
        std::array<Claim, 2> held{};
        auto const living = [&](std::size_t i) -> ProducerRecord const* {
            return i == 0 && is_dead ? nullptr : record(static_cast<int>(i));
        };
        return give_up_claims(view_, 2, living, far(), near(), held.data());
    }

    void consume() {
        using DeviceNear = BasicDeviceNear<LookingGpu>;
        using DeviceFar = BasicDeviceFar<ClaimingGpu>;
        MpmcConsumer<Message, DeviceNear, DeviceFar, OneThread> consumer(
            view_, DeviceNear(LookingGpu(memory_)), DeviceFar(ClaimingGpu(memory_)));
        std::uint32_t of_mortal = 0;
        std::uint32_t of_other = 0;
        while (of_other != shape.messages || (of_mortal == 0 && !died_)) {
            bool const any = consumer.poll([&](Message const& message, Sequence /*number*/) {
                if (message == Message::make(1)) {
                    RL_ASSERT(++of_mortal == 1);
                    return;
                }
                RL_ASSERT(message == Message::make(2 + of_other));
                RL_ASSERT(data_.at(of_other)(RL_INFO).load() == 2 + of_other);
                ++of_other;
            });
            if (!any) rl::yield(1, RL_INFO);
        }
        skips += consumer.skipped();
        RL_ASSERT(died_ || consumer.skipped() == 0);
    }

    ModelMemory memory_{QuadIs::one_access, first_and_last_quad};
    MpmcRingView view_ =
        mpmc_view(memory_, shape.capacity, shape.stripe_shift, shape.first, shape_of<Message>());
    rl::atomic<unsigned> ended_;
    std::array<rl::var<std::uint32_t>, shape.messages> data_;
    bool died_ = false;  // the model's own
};

// The first two for bounded searches.
inline constexpr MpmcShape one_message{.capacity = 2, .stripe_shift = 0, .messages = 1};
inline constexpr MpmcShape two_messages{
    .capacity = 2, .stripe_shift = 0, .messages = 2, .gives_up_for_a_third = false};
inline constexpr MpmcShape stripes_of_one{.capacity = 2, .stripe_shift = 0, .messages = 2};
inline constexpr MpmcShape stripes_of_two{
    .capacity = 4, .stripe_shift = 1, .messages = 4, .first = (Sequence{1} << 32) - 3};

inline constexpr MpmcShape two_lines{.capacity = 2,
                                     .stripe_shift = 0,
                                     .messages = 2,
                                     .first = (Sequence{1} << 32) - 1,
                                     .in_two_lines = true};

// Both producers live.
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

// Which ends there are, by the way that lines go.
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
        ClaimingGpu const gpu(memory);
        return Receiver(view, ReceiverNear(gpu), ReceiverFar(gpu));
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
        return Receiver(view, ReceiverNear(nullptr, SharingCpu(memory)),
                        ReceiverFar(one_step, nullptr, nullptr, RelacyCpu<WholeQuads>(memory)));
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
            view_.slots[view_.index(traffic.first)] = pack(Message::make(0), tag_of(traffic.first));
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
    // Of message i of a producer, from 1 on.
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
