// SPDX-License-Identifier: Apache-2.0
// Device threads that ask the host and may give up at any moment. A thread that is answered has the
// whole answer to its own question, and the data that question and answer refer to are there.
#pragma once

#include <algorithm>
#include <vector>

#include "adversary/scenarios/mpmc_ring_scenario.hpp"
#include "carillon/detail/protocol/host_call.hpp"

namespace carillon::test {
using namespace detail;

// A message of `words` words. Answer `kind` 1 is made of question `kind` 0.
template <std::size_t words>
struct AskedWords {
    std::uint64_t asker;
    std::uint64_t index;
    std::uint64_t check[words - 2];

    static AskedWords make(std::uint64_t kind, std::uint64_t asker, std::uint64_t index) {
        std::uint64_t const base = ((asker << 32 | index) * 2 + kind) * 0x9e3779b97f4a7c15U + 1;
        AskedWords asked{asker, index, {}};
        for (std::uint64_t i = 0; i < words - 2; ++i) asked.check[i] = base + i;
        return asked;
    }
    bool operator==(AskedWords const&) const = default;
};
// The longest reply that a host service may give.
using AskedOfHost = AskedWords<5>;

// Checks that the question is whole, and pauses for a random time.
template <class Question>
void check_and_pause(Machine& machine, Side side, Question const& question) {
    machine.require(question == Question::make(0, question.asker, question.index),
                    "the question {} of {} is not whole", question.index, question.asker);
    for (std::uint32_t i = machine.random().below(64); i != 0; --i) machine.pause(side);
}

// Up to three slots, in six lines where they are of one. Words and lines in atoms of their own: the
// host flushes whole ones.
inline ReplySlots draw_reply_slots(Random& random, Line* memory, MessageShape shape = {}) {
    std::uint32_t const count = 1 + random.below(3);
    Line* const words = memory + std::max(4U, 3 * shape.slot_lines);
    ReplySlots const slots{memory, &words[0].quads[0].low, &words[1].quads[0].low, count, shape};
    format_reply_slots(slots, random.one_in(2) ? 1 : (Sequence{1} << 32) - random.below(4));
    return slots;
}

// Time that passes with the polls of the thread that asks for it.
class AskingClock {
   public:
    explicit AskingClock(Machine& machine) : machine_(&machine) {}

    void idle(std::uint32_t /*polls*/) {
        machine_->pause(Side::device);
        ++now_;
    }
    // Now and then it is late.
    [[nodiscard]] std::uint64_t now_ns() {
        if (machine_->random().one_in(8)) now_ += machine_->random().below(64);
        return now_;
    }

   private:
    Machine* machine_;
    std::uint64_t now_ = 0;
};

// `Gpu`: the instructions that the callers claim and poll with.
template <class Gpu = AdversaryGpu>
class HostServiceScenario {
   public:
    explicit HostServiceScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          requests_(
              draw_mpmc_ring(machine_.random(), machine_.host_lines(), machine_.device_lines())),
          slots_(draw_reply_slots(machine_.random(), machine_.device_lines() + 4)),
          asked_(policies, Side::device),
          answered_(policies, Side::host) {
        if (machine_.random().one_in(4)) machine_.drag();
    }

    std::string run() {
        std::vector<Machine::Thread> threads;
        for (unsigned i = 0; i != askers; ++i) {
            threads.push_back({Side::device, [this, i] { ask(i); }});
        }
        threads.push_back({Side::host, [this] { serve(); }});
        return machine_.run(std::move(threads));
    }

   private:
    using Near = BasicDeviceNear<Gpu>;
    using Caller =
        BasicHostCaller<AskedOfHost, AskedOfHost, Policies::DeviceFar, Near, AskingClock>;
    static constexpr unsigned askers = 3;
    static constexpr std::uint64_t questions = 5;  // of each

    // Each question, and each answer, has a word of data.
    static std::uint32_t word_of(std::uint64_t asker, std::uint64_t index) {
        return static_cast<std::uint32_t>(asker * questions + index);
    }

    void ask(unsigned asker) {
        Caller caller(requests_, slots_, AskingClock(machine_), policies_.device_far(),
                      Near(Gpu(machine_)));
        for (std::uint64_t i = 0; i != questions; ++i) {
            asked_.write(word_of(asker, i), ~i);
            if (machine_.random().one_in(4)) {
                if (caller.post(AskedOfHost::make(0, asker, i), OutOfLine::written)) ++sent_;
                continue;
            }
            // The last question of each thread waits: everything arrives without further stores.
            std::uint64_t const patience =
                i + 1 == questions ? ~std::uint64_t{0} : machine_.random().below(200);
            AskedOfHost answer{};
            auto const result =
                caller.call(AskedOfHost::make(0, asker, i), answer, patience, OutOfLine::written);
            if (result != HostCallResult::no_room) ++sent_;
            check(result, answer, asker, i);
        }
        if (++gone_ != askers) return;
        while (served_ != sent_) machine_.pause(Side::device);
        finished_ = true;
    }

    void check(HostCallResult result, AskedOfHost const& answer, unsigned asker, std::uint64_t i) {
        bool const refused = i % 3 == 0;
        if (result == HostCallResult::failed) {
            machine_.require(refused, "call {} of {} has the answer of one that fails", i, asker);
        } else if (result == HostCallResult::answered) {
            machine_.require(!refused && answer == AskedOfHost::make(1, asker, i),
                             "call {} of {} has the answer {} of {}, or a part of it", i, asker,
                             answer.index, answer.asker);
            machine_.require(answered_.read(word_of(asker, i)) == i + 1,
                             "the answer to call {} of {} is ahead of its data", i, asker);
        } else {
            machine_.require(i + 1 != questions, "call {} of {}, which waits for ever, gave up", i,
                             asker);
        }
    }

    void serve() {
        MpmcConsumer<AddressedRequest<AskedOfHost>, Policies::HostNear, Policies::HostFar,
                     OneThread>
            consumer(requests_, policies_.host_near(), policies_.host_far());
        HostReplyWriter<Policies::HostFar> const writer(slots_, policies_.host_far());
        while (!finished_) {
            consumer.poll([&](AddressedRequest<AskedOfHost> const& request, Sequence /*number*/) {
                AskedOfHost const& question = request.value;
                check_and_pause(machine_, Side::host, question);
                std::uint32_t const word = word_of(question.asker, question.index);
                machine_.require(asked_.read(word) == ~question.index,
                                 "question {} of {} is ahead of its data", question.index,
                                 question.asker);
                if (question.index % 3 == 0) {
                    writer.fail(request.reply_to);
                } else {
                    answered_.write(word, question.index + 1);
                    writer.answer(request.reply_to,
                                  AskedOfHost::make(1, question.asker, question.index),
                                  OutOfLine::written);
                }
                ++served_;
            });
        }
    }

    Policies const& policies_;
    Machine& machine_;
    MpmcRingView requests_;
    ReplySlots slots_;
    OutOfLineWords asked_;
    OutOfLineWords answered_;
    // Between the threads, past the machine.
    std::uint64_t sent_ = 0;
    std::uint64_t served_ = 0;
    unsigned gone_ = 0;
    bool finished_ = false;
};

}  // namespace carillon::test
