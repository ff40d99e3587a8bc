// SPDX-License-Identifier: Apache-2.0
// A shared ring with two producers, of which one may die at any access, and a consumer, as Relacy's
// threads. The other producer gives up what the dead one held, and does so now and then while
// nobody has died, as it would for a third.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "carillon/access/lanes.hpp"
#include "carillon/core/shared_ring.hpp"
#include "model/machines.hpp"
#include "model/relacy.hpp"
#include "model/ring_model.hpp"

namespace carillon::test {

struct ThreadDied {};

// Accesses that the first thread has left; the others live on.
inline unsigned accesses_left = 0;

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

   private:
    ModelMemory* memory_;
};

}  // namespace carillon::test

namespace carillon {

template <>
inline constexpr std::uint32_t polls_per_look<BasicDeviceNear<test::ClaimingGpu>> = 1;

}  // namespace carillon

namespace carillon::test {

struct SharedShape {
    std::uint32_t capacity;
    std::uint32_t stripe_shift;
    std::uint32_t messages;  // of the second producer; the first has one
    Sequence first = 1;
};

// NearCpu: SharingCpu, or one that is broken. Far: the producers' far policy.
template <SharedShape shape, class NearCpu = SharingCpu, class Far = BasicHostMapped<MortalCpu>>
class SharedRingModel : public rl::test_suite<SharedRingModel<shape, NearCpu, Far>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    // Over all executions of a search.
    inline static std::uint64_t deaths = 0;
    inline static std::uint64_t skips = 0;

    void before() {
        format_ring(view_);
        memory_.begin(shape.capacity, 2 + 2 * shape.capacity);
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
    using Near = BasicHostCached<NearCpu>;
    using End = SharedProducer<Message, Far, Near, ClaimRecord>;
    static constexpr unsigned accesses_of_a_push = 9;
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
            accesses_left = 1000;
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
            if (rl::rand(2) == 0) (void)give_up();
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
        using DeviceNear = BasicDeviceNear<ClaimingGpu>;
        using DeviceFar = BasicDeviceFar<ClaimingGpu>;
        SharedConsumer<Message, DeviceNear, DeviceFar, OneLane> consumer(
            view_, DeviceNear(ClaimingGpu(memory_)), DeviceFar(ClaimingGpu(memory_)));
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
    // claimed and taken, the credits, the numbers given up.
    SharedRingView view_{memory_.lines(),     memory_.words() + 2 + shape.capacity,
                         memory_.words() + 1, memory_.words(),
                         memory_.words() + 2, shape.capacity,
                         shape.stripe_shift,  shape.first};
    rl::atomic<unsigned> ended_;
    std::array<rl::var<std::uint32_t>, shape.messages> data_;
    bool died_ = false;  // the model's own
};

inline constexpr SharedShape stripes_of_one{.capacity = 2, .stripe_shift = 0, .messages = 2};
inline constexpr SharedShape stripes_of_two{
    .capacity = 4, .stripe_shift = 1, .messages = 4, .first = (Sequence{1} << 32) - 3};

}  // namespace carillon::test
