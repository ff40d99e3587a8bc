// SPDX-License-Identifier: Apache-2.0
// Two callers that share slots for replies, and one thread that answers, as Relacy's threads. A
// question goes through a word of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "carillon/detail/protocol/reply_slots.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/mpmc_ring_model.hpp"

namespace carillon::test {
using namespace detail;

struct CallShape {
    std::uint32_t slots;
    std::uint32_t calls;  // of the first caller, which gives up; the second makes one and waits
    std::uint32_t looks;  // before the first gives up
    std::uint32_t bound;  // of what is waited for, or 0
    Sequence first = 1;
    bool in_two_lines = false;
};

// Near: the callers' policy; Far: the answering thread's policy; M: a machine that has both.
template <CallShape shape, class M, class Near, class Far>
class ReplySlotsModel : public rl::test_suite<ReplySlotsModel<shape, M, Near, Far>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    using Answer = std::conditional_t<shape.in_two_lines, TwoLines, Message>;

    void before() {
        accesses_left = no_end;
        format_reply_slots(view_, shape.first);
        for (std::uint32_t i = 0; i < questions; ++i) *question(i) = 0;
        memory_.begin(std::size_t{shape.slots} * slot_lines_of<Answer>,
                      shape.slots + 1 + questions);
    }

    void thread(unsigned index) {
        if (index == 2) {
            answer();
        } else {
            call(index == 0 ? 0 : shape.calls, index == 0 ? shape.calls : 1);
        }
    }

   private:
    using Wait = Tries<shape.bound>;
    static constexpr std::uint32_t questions = shape.calls + 1;
    static constexpr Word not_asked = ~Word{0};

    Word* question(std::uint32_t number) { return memory_.words() + shape.slots + 1 + number; }

    void call(std::uint32_t from, std::uint32_t count) {
        ReplySlotClaim<Near> slot(view_, M::template make<Near>(memory_));
        for (std::uint32_t number = from; number < from + count; ++number) {
            bool const gives_up = from == 0;
            if (claimed(slot)) {
                ReplyAddress const to = slot.address();
                memory_.at(question(number))
                    .store(Word{to.slot + 1} << 32U | to.number, rl::mo_release, RL_INFO);
                take(slot, number, gives_up);
            } else {
                memory_.at(question(number)).store(not_asked, rl::mo_release, RL_INFO);
            }
        }
    }

    bool claimed(ReplySlotClaim<Near>& slot) {
        for (std::uint32_t tries = 0; Wait::again(tries); ++tries) {
            if (slot.try_claim()) return true;
            Wait::wait();
        }
        return false;
    }

    void take(ReplySlotClaim<Near>& slot, std::uint32_t number, bool gives_up) {
        for (std::uint32_t looks = 0; gives_up ? looks < shape.looks : Wait::again(looks);
             ++looks) {
            Packed<Answer> answer;
            if (slot.template look<Answer>(answer)) {
                RL_ASSERT(unpack<Answer>(answer) == Answer::make(number + 1));
                RL_ASSERT(data_.at(number)(RL_INFO).load() == number + 1);
                slot.give_back();
                return;
            }
            if (!gives_up) Wait::wait();
        }
        slot.give_up();
    }

    void answer() {
        ReplyWriter<Far> const writer(view_, M::template make<Far>(memory_));
        std::array<bool, questions> done{};
        std::uint32_t left = questions;
        for (std::uint32_t sweeps = 0; left != 0 && Wait::again(sweeps); ++sweeps) {
            for (std::uint32_t number = 0; number < questions; ++number) {
                if (done.at(number)) continue;
                Word const asked = memory_.at(question(number)).load(rl::mo_acquire, RL_INFO);
                if (asked == 0) continue;
                done.at(number) = true;
                --left;
                if (asked == not_asked) continue;
                data_.at(number)(RL_INFO) = number + 1;
                writer.answer({static_cast<std::uint32_t>(asked >> 32U) - 1, tag_of(asked)},
                              Answer::make(number + 1), OutOfLine::written);
            }
            if (left != 0) Wait::wait();
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    ReplySlots view_{memory_.lines(), memory_.words(), memory_.words() + shape.slots, shape.slots,
                     shape_of<Answer>()};
    std::array<rl::var<Word>, questions> data_;
};

// The device asks, the CPU answers; and the other way round.
template <CallShape shape, Quads quads, class Gpu = ClaimingGpu,
          class M = Machine<RelacyCpu<WholeQuads>, Gpu, QuadIs::one_access, quads, one_step>>
using DeviceAsksModel = ReplySlotsModel<shape, M, typename M::DeviceNear, typename M::HostFar>;
template <CallShape shape, Quads quads,
          class M = Machine<SharingCpu, RelacyGpu<WholeQuads>, QuadIs::one_access, quads, one_step>>
using HostAsksModel = ReplySlotsModel<shape, M, typename M::HostNear, typename M::DeviceFar>;

}  // namespace carillon::test
