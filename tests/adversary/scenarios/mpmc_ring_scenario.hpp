// SPDX-License-Identifier: Apache-2.0
// MpmcTraffic of several producers, some of which may die, and several consumers.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/fiber_lanes.hpp"
#include "adversary/machine/seeds.hpp"
#include "carillon/detail/machine/group.hpp"
#include "support/ring_memory.hpp"
#include "traffic/mpmc_traffic.hpp"

namespace carillon::test {
using namespace detail;

struct MpmcPlan {
    unsigned producers = 3;
    unsigned consumers = 2;
    std::uint32_t messages = 6;  // of each producer
    OutOfLine data = OutOfLine::none;
    unsigned deaths = 0;    // the number of producers that may die, the first ones
    unsigned lanes = 0;     // the number of lanes of a warp that consume instead
    bool hands_on = false;  // consumers leave their stripes now and then, and one of several ends
};

// The slots, in 8 lines or 16; the ring's other words lie behind them and from `words` on.
inline MpmcRingView draw_mpmc_ring(Random& random, Line* slots, Line* words,
                                   MessageShape shape = {}) {
    std::uint32_t const capacity = 4U << random.below(shape.slot_lines == 4 ? 1 : 2);
    Line* const behind = slots + (shape.slot_lines == 1 ? 8 : 16);
    std::uint32_t const shift = random.below(capacity == 4 ? 2 : 3);
    Sequence const stripe = Sequence{1} << shift;
    Sequence const before_the_wrap = (Sequence{1} << 32) - (1 + random.below(3)) * stripe;
    MpmcRingView const view{slots,
                            &behind[0].quads[0].low,
                            &behind[1].quads[0].low,
                            &behind[1].quads[1].low,
                            &words[0].quads[0].low,
                            &words[1].quads[0].low,
                            capacity,
                            shift,
                            random.one_in(2) ? 1 : before_the_wrap + 1,
                            shape};
    format_ring(view);
    return view;
}

// Message `index` of producer `producer`, of `words` words.
template <std::size_t words>
struct MpmcWords {
    std::uint64_t producer;
    std::uint64_t index;
    std::uint64_t check[words - 2];

    static MpmcWords make(std::uint64_t producer, std::uint64_t index) {
        MpmcWords message{producer, index, {}};
        std::uint64_t const base = (producer << 32 | index) * 0x9e3779b97f4a7c15U + 1;
        for (std::uint64_t i = 0; i < words - 2; ++i) message.check[i] = base + i;
        return message;
    }
    bool operator==(MpmcWords const&) const = default;
};
using MpmcMessage = MpmcWords<6>;

// Facts about a run that its threads share outside of the machine.
struct MpmcRun {
    std::vector<bool> gone;  // of each producer: it has ended, well or not
    std::vector<bool> dead;  // it may have died at a claim, which must be given up
    bool finished = false;

    [[nodiscard]] bool all_gone() const {
        return std::all_of(gone.begin(), gone.end(), [](bool each) { return each; });
    }
    [[nodiscard]] bool any_dead() const {
        return std::any_of(dead.begin(), dead.end(), [](bool each) { return each; });
    }
};

// `side` is the producers'.
template <class ConsumerNear, class ConsumerFar, class MessageType = MpmcMessage>
class MpmcScenario : public AdversaryWorld {
   public:
    using Message = MessageType;
    using Traffic = MpmcTraffic<MpmcScenario, Message>;
    static constexpr std::uint32_t most_in_batch = 5;

    MpmcScenario(Policies const& policies, Side side, ConsumerNear near, ConsumerFar far,
                 MpmcPlan plan)
        : AdversaryWorld(policies),
          side_(side),
          plan_(plan),
          view_(side == Side::host ? draw_mpmc_ring(machine_.random(), machine_.device_lines(),
                                                    machine_.host_lines(), shape_of<Message>())
                                   : draw_mpmc_ring(machine_.random(), machine_.host_lines(),
                                                    machine_.device_lines(), shape_of<Message>())),
          near_(near),
          far_(far),
          words_(policies, side),
          traffic_(*this, view_.capacity, counts(plan)) {
        run_.gone.resize(plan.producers);
        run_.dead.resize(plan.producers);
        for (unsigned i = 0; i != plan.deaths; ++i) run_.dead[i] = true;
        if (plan.deaths != 0 && machine_.random().one_in(2)) machine_.drag();
    }

    [[nodiscard]] MpmcRingView const& view() const { return view_; }
    [[nodiscard]] Machine& machine() const { return machine_; }
    [[nodiscard]] MpmcPlan const& plan() const { return plan_; }
    [[nodiscard]] Traffic& traffic() { return traffic_; }
    [[nodiscard]] MpmcRun& state() { return run_; }

    // `produce(producer)` for each, on a thread of its own.
    std::string run(std::function<void(unsigned)> const& produce) {
        std::vector<Machine::Thread> threads;
        for (unsigned i = 0; i != plan_.producers; ++i) {
            threads.push_back({side_, [this, &produce, i] {
                                   Ending const ending{run_, i};
                                   produce(i);
                               }});
        }
        for (unsigned i = 0; i != (plan_.lanes == 0 ? plan_.consumers : 0); ++i) {
            threads.push_back({other(side_), [this] { consume_as(OneThread()); }});
        }
        for (unsigned i = 0; i != plan_.lanes; ++i) {
            threads.push_back({other(side_), [this, i] { consume_as(FiberLanes(votes_, i)); }});
        }
        std::string const failure = machine_.run(std::move(threads));
        return failure.empty() && !all_taken() ? "a message is missing" : failure;
    }

    [[nodiscard]] static Message message(std::uint64_t producer, std::uint64_t index) {
        return Message::make(producer, index);
    }
    [[nodiscard]] static MpmcOrigin origin(Message const& message) {
        return {message.producer, message.index};
    }
    // A thread of the device pushes one at a time.
    [[nodiscard]] std::uint32_t draw_batch(std::uint32_t left) const {
        return side_ == Side::device ? 1 : std::min(left, 1 + machine_.random().below(5));
    }
    [[nodiscard]] bool has_one() const { return !machine_.random().one_in(8); }
    [[nodiscard]] OutOfLine data_of(unsigned /*producer*/) const { return plan_.data; }
    // Two words for each message, in different lines; none is used again.
    void write_data(std::uint64_t producer, std::uint64_t index) const {
        if (plan_.data == OutOfLine::none) return;
        words_.write(first_word(producer, index), ~index);
        words_.write(first_word(producer, index) + OutOfLineWords::count / 2, index + 1);
    }

    void read_data(std::uint64_t producer, std::uint64_t index) const {
        if (plan_.data == OutOfLine::none) return;
        auto const at = first_word(producer, index);
        std::uint64_t const second = words_.read(at + OutOfLineWords::count / 2);
        std::uint64_t const first = words_.read(at);
        require(first == ~index && second == index + 1, "message {} of producer {} has other data",
                index, producer);
    }

    // Whether every message of the living was taken.
    [[nodiscard]] bool all_taken() const { return traffic_.all_taken(plan_.deaths); }

   private:
    struct Ending {
        MpmcRun& run;
        unsigned producer;
        ~Ending() { run.gone[producer] = true; }
    };

    template <class Lanes>
    void consume_as(Lanes lanes) {
        plan_.hands_on ? consume<true>(lanes) : consume<false>(lanes);
    }

    template <bool hands_on, class Lanes>
    void consume(Lanes lanes) {
        MpmcConsumer<Message, ConsumerNear, ConsumerFar, Lanes, hands_on> end(view_, near_, far_,
                                                                              lanes);
        while (lanes.any(!run_.finished)) {
            if constexpr (hands_on) {
                bool const leaves = is_leader(lanes) && machine_.random().one_in(8);
                if (lanes.broadcast(leaves ? 1 : 0) != 0) {
                    end.hand_on();
                    if (ends_for_good()) return;
                }
            }
            end.poll([&](Message const& message, Sequence sequence) {
                // Only the last load of a row is an acquire: a branch orders the others.
                if constexpr (KeepAccess<ConsumerNear>) machine_.decide(view_.slot(sequence));
                traffic_.take(message, sequence);
            });
        }
    }

    // The first of several consumers that leave a stripe.
    [[nodiscard]] bool ends_for_good() {
        return plan_.lanes == 0 && plan_.consumers > 1 && !std::exchange(one_ended_, true);
    }

    static typename Traffic::Counts counts(MpmcPlan const& plan) {
        typename Traffic::Counts counts{};
        std::fill_n(counts.begin(), plan.producers, plan.messages);
        return counts;
    }

    static std::uint32_t first_word(std::uint64_t producer, std::uint64_t index) {
        return static_cast<std::uint32_t>(producer * 8 + index);
    }

    Side side_;  // the producers'
    MpmcPlan plan_;
    MpmcRingView view_;
    ConsumerNear near_;
    ConsumerFar far_;
    OutOfLineWords words_;
    LaneVotes votes_{machine_, plan_.lanes};
    Traffic traffic_;
    MpmcRun run_;
    bool one_ended_ = false;
};

}  // namespace carillon::test
