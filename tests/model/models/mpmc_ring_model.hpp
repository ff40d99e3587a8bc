// SPDX-License-Identifier: Apache-2.0
// An MPMC ring as Relacy's threads: a producer that may die, one that gives up the claims of the
// dead, and a consumer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "carillon/detail/machine/group.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/ring_model.hpp"
#include "traffic/mpmc_traffic.hpp"

namespace carillon::test {
using namespace detail;

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

// A CPU on the device's memory that dies after so many accesses.
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

template <class Access>
class ClaimingGpuOn : public RelacyGpu<Access> {
   public:
    explicit ClaimingGpuOn(ModelMemory& memory) : RelacyGpu<Access>(memory), memory_(&memory) {}
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
using ClaimingGpu = ClaimingGpuOn<WholeQuads>;

static_assert(ClaimAccess<BasicHostCached<SharingCpu>> && CpuMappedStores<MortalCpu> &&
              ClaimAccess<BasicDeviceNear<ClaimingGpu>>);

// Looks for numbers that were given up whenever it finds nothing.
struct LookingGpu : ClaimingGpu {
    using ClaimingGpu::ClaimingGpu;
};

}  // namespace carillon::test

namespace carillon::detail {

template <>
inline constexpr std::uint32_t polls_per_look<BasicDeviceNear<test::LookingGpu>> = 1;

}  // namespace carillon::detail

namespace carillon::test {

struct MpmcShape {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::uint32_t messages;  // of the second producer; the first has one
    Sequence first = 1;
    bool gives_up_for_a_third = true;
    bool in_two_lines = false;
};

template <MpmcShape shape>
using MpmcMessageOf = std::conditional_t<shape.in_two_lines, TwoLines, MessageOf<12>>;

// The words of an MPMC ring: claimed and taken, the credits, the numbers given up.
inline constexpr std::size_t mpmc_words(std::uint32_t capacity) {
    return 2 + 2 * capacity + MpmcRingView::left_words(capacity, 1);
}

[[nodiscard]] inline MpmcRingView mpmc_view(ModelMemory& memory, std::uint32_t capacity,
                                            std::uint32_t stripe_shift, Sequence first,
                                            MessageShape shape = {}) {
    Word* const words = memory.words();
    return {memory.lines(), words + 2 + capacity,
            words + 1,      words + 2 + 2 * capacity,
            words,          words + 2,
            capacity,       stripe_shift,
            first,          shape};
}

// MpmcTraffic as a model has it: messages of two producers, numbered from 1 on, each pushed alone.
template <class Message, std::uint32_t of_the_first>
class MpmcNumbers : public ModelWorld<0> {
   public:
    static constexpr std::uint32_t most_in_batch = 1;

    [[nodiscard]] static std::uint64_t number(std::uint64_t producer, std::uint64_t index) {
        return producer * of_the_first + index + 1;
    }
    [[nodiscard]] static Message message(std::uint64_t producer, std::uint64_t index) {
        return Message::make(number(producer, index));
    }
    [[nodiscard]] static MpmcOrigin origin(Message const& message) {
        std::uint64_t const producer = message.number() > of_the_first ? 1 : 0;
        return {producer, message.number() - number(producer, 0)};
    }
    [[nodiscard]] static std::uint32_t draw_batch(std::uint32_t /*left*/) { return 1; }
    [[nodiscard]] static bool has_one() { return true; }
};

// The first producer may die at any access. The other one gives up the claims of the dead. If asked
// to, it also does so now and then while nobody has died, as it would for a third one. NearCpu:
// SharingCpu, or a broken one. Far: the producers' far policy.
template <MpmcShape shape, class NearCpu = SharingCpu, class Far = BasicHostMapped<MortalCpu>>
class MpmcRingModel : public rl::test_suite<MpmcRingModel<shape, NearCpu, Far>, 3>,
                      public MpmcNumbers<MpmcMessageOf<shape>, 1> {
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

    [[nodiscard]] static OutOfLine data_of(unsigned producer) {
        return producer == 0 ? OutOfLine::none : OutOfLine::written;
    }
    void write_data(unsigned producer, std::uint32_t index) {
        if (producer == 0) return;
        if (shape.gives_up_for_a_third && rl::rand(2) == 0) (void)give_up();
        data_.at(index)(RL_INFO) = 2 + index;
    }
    void read_data(std::uint64_t producer, std::uint64_t index) {
        if (producer == 1) RL_ASSERT(data_.at(index)(RL_INFO).load() == 2 + index);
    }

   private:
    using Message = MpmcMessageOf<shape>;
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
            traffic_.produce(0, producer, [] {
                rl::yield(1, RL_INFO);
                return true;
            });
            accesses_left = no_end;
            ended_(RL_INFO).store(well, rl::mo_release);
        } catch (ThreadDied const&) {
            ++deaths;
            // Its buffers have been written out, and the kernel tells of its death.
            ended_(RL_INFO).store(dead, rl::mo_release);
            died_ = true;
        }
    }

    void push_and_give_up() {
        End producer = end(1);
        traffic_.produce(1, producer, [&] {
            if (ended_(RL_INFO).load(rl::mo_acquire) == dead) (void)give_up();
            rl::yield(1, RL_INFO);
            return true;
        });
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
        Sequence last = 0;  // that was taken; numbers that were given up are passed over
        while (!traffic_.all_taken(1) || (traffic_.taken(0) == 0 && !died_)) {
            bool const any = consumer.poll([&](Message const& message, Sequence sequence) {
                RL_ASSERT(sequence > last);
                last = sequence;
                traffic_.take(message, sequence);
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
    MpmcTraffic<MpmcRingModel, Message> traffic_{*this, shape.capacity, {1, shape.messages}};
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

}  // namespace carillon::test
