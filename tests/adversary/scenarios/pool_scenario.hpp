// SPDX-License-Identifier: Apache-2.0
// A pooled kernel and its clients: threads of the host send requests through an MPMC ring, any free
// thread of the device takes the next, replies come in any order to the slots that the requests
// name, and a client may give up at any moment.
#pragma once

#include <vector>

#include "adversary/scenarios/host_service_scenario.hpp"

namespace carillon::test {
using namespace detail;

// Replies refer to data, but for those that leave by bulk copies.
template <class ReplyFar = Policies::DeviceFar, class Question = AskedOfHost,
          class Answer = AskedOfHost>
class PoolScenario {
   public:
    PoolScenario(Policies const& policies, ReplyFar reply_far, OutOfLine data = OutOfLine::written)
        : policies_(policies),
          machine_(policies.machine()),
          requests_(draw_mpmc_ring(machine_.random(), machine_.device_lines(),
                                   machine_.host_lines(), shape_of<Asked>())),
          records_(reinterpret_cast<ProducerRecord*>(machine_.host_lines() + 2)),
          slots_(
              draw_reply_slots(machine_.random(), machine_.host_lines() + 6, shape_of<Answer>())),
          reply_far_(reply_far),
          refers_(data),
          data_(policies, Side::device) {
        if (machine_.random().one_in(4)) machine_.drag();
    }

    std::string run() {
        std::vector<Machine::Thread> threads;
        for (unsigned i = 0; i != clients; ++i) {
            threads.push_back({Side::host, [this, i] { ask(i); }});
        }
        for (unsigned i = 0; i != servers; ++i) {
            threads.push_back({Side::device, [this] { serve(); }});
        }
        return machine_.run(std::move(threads));
    }

   private:
    using Asked = AddressedRequest<Question>;
    using SlotClaim = ReplySlotClaim<Policies::HostNear>;
    static constexpr unsigned clients = 2;
    static constexpr unsigned servers = 2;
    static constexpr std::uint64_t questions = 6;  // of each client

    // A slot, and the reply that is awaited there.
    struct Slot {
        SlotClaim claim;
        std::uint64_t index = 0;
        bool awaited = false;
    };

    // Each reply has a word of data.
    static std::uint32_t word_of(std::uint64_t client, std::uint64_t index) {
        return static_cast<std::uint32_t>(client * questions + index);
    }

    void ask(unsigned client) {
        MpmcProducer<Asked, Policies::HostFar, Policies::HostNear, ClaimRecord> producer(
            requests_, policies_.host_far(), policies_.host_near(), ClaimRecord(records_ + client));
        std::vector<Slot> slots(2, Slot{SlotClaim(slots_, policies_.host_near())});
        std::uint64_t submitted = 0;
        std::uint64_t outstanding = 0;
        while (submitted != questions || outstanding != 0) {
            Slot& slot = slots[machine_.random().below(2)];
            if (!slot.awaited) {
                if (submitted == questions || !submit(producer, slot, client, submitted)) {
                    machine_.pause(Side::host);
                    continue;
                }
                ++submitted;
                ++outstanding;
            } else if (take_or_give_up(slot, client)) {
                --outstanding;
            }
        }
        if (++gone_ != clients) return;
        while (served_ != clients * questions) machine_.pause(Side::host);
        finished_ = true;
    }

    template <class Producer>
    bool submit(Producer& producer, Slot& slot, unsigned client, std::uint64_t index) {
        if (!slot.claim.try_claim()) return false;
        if (!producer.try_push({slot.claim.address(), Question::make(0, client, index)})) {
            slot.claim.take_back();
            return false;
        }
        slot.index = index;
        slot.awaited = true;
        return true;
    }

    // Waits for the last reply of each client: everything arrives without further stores.
    bool take_or_give_up(Slot& slot, unsigned client) {
        Packed<Answer> packed;
        if (slot.claim.template look<Answer>(packed)) {
            auto const answer = unpack<Answer>(packed);
            machine_.require(answer == Answer::make(1, client, slot.index),
                             "request {} of {} has the answer {} of {}, or a part of it",
                             slot.index, client, answer.index, answer.asker);
            machine_.require(refers_ == OutOfLine::none ||
                                 data_.read(word_of(client, slot.index)) == ~slot.index,
                             "the answer to request {} of {} is ahead of its data", slot.index,
                             client);
            slot.claim.give_back();
        } else if (slot.index + 1 != questions && machine_.random().one_in(64)) {
            slot.claim.give_up();
        } else {
            return false;
        }
        slot.awaited = false;
        return true;
    }

    void serve() {
        MpmcConsumer<Asked, Policies::DeviceNear, Policies::DeviceFar, OneThread> consumer(
            requests_, policies_.device_near(), policies_.device_far());
        ReplyWriter<ReplyFar> const replies(slots_, reply_far_);
        while (!finished_) {
            consumer.poll([&](Asked const& asked, Sequence /*number*/) {
                Question const& question = asked.value;
                check_and_pause(machine_, Side::device, question);
                if (refers_ == OutOfLine::written) {
                    data_.write(word_of(question.asker, question.index), ~question.index);
                }
                replies.answer(asked.reply_to, Answer::make(1, question.asker, question.index),
                               refers_);
                ++served_;
            });
        }
    }

    Policies const& policies_;
    Machine& machine_;
    MpmcRingView requests_;
    ProducerRecord* records_;
    ReplySlots slots_;
    ReplyFar reply_far_;
    OutOfLine refers_;
    OutOfLineWords data_;
    // Between the threads, past the machine.
    std::uint64_t served_ = 0;
    unsigned gone_ = 0;
    bool finished_ = false;
};

}  // namespace carillon::test
