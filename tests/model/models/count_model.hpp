// SPDX-License-Identifier: Apache-2.0
// CountTraffic through a flag, a doorbell or a mailbox, with its ends as Relacy's threads. Data are
// plain variables, so Relacy reports a number that overtakes its data as a race.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "traffic/count_traffic.hpp"

namespace carillon::test {
using namespace detail;

struct CountPlan {
    std::uint32_t slots = 0;  // of a mailbox
    Word values = 3;          // how many are sent
    // How often the reader looks; with no bound, until it has had the last value.
    std::uint32_t looks = 0;
    OutOfLine data = OutOfLine::written;
    Sequence first = 1;
};

// A value of `lines` lines. All quads of a line are equal, so two can stand for all; the lines
// differ in their numbers.
template <std::size_t lines>
struct LinesOf {
    std::uint32_t word[lines * mailbox_words_per_line];

    static LinesOf make(Word number) {
        LinesOf value;
        std::fill(std::begin(value.word), std::end(value.word), static_cast<std::uint32_t>(number));
        return value;
    }
    [[nodiscard]] Word number() const { return word[0]; }
    [[nodiscard]] bool whole() const { return *this == make(number()); }
    bool operator==(LinesOf const&) const = default;
};

template <class Ends, class Way, CountPlan plan>
class CountModel : public rl::test_suite<CountModel<Ends, Way, plan>, 2>,
                   public ModelWorld<plan.looks> {
   public:
    static constexpr unsigned depth_limit = 20000;
    // Over all executions of a search.
    inline static Word most_read = 0;
    inline static bool skipped_some = false;

    void before() { begin(place_); }

    void thread(unsigned index) {
        if (index == 0) {
            Sender sender(place_, M::template make<typename Way::SenderFar>(memory_), plan.data);
            traffic_.write(sender);
        } else {
            Receiver receiver(place_, M::template make<typename Way::ReceiverNear>(memory_));
            traffic_.read(receiver);
        }
    }

    void after() {
        most_read = std::max(most_read, traffic_.read());
        skipped_some = skipped_some || traffic_.skipped();
    }

    void write_data(Word number) {
        if (plan.data == OutOfLine::written) data_.at(number - 1)(RL_INFO) = number;
    }
    void check_data(Word before, Word now) {
        if (plan.data == OutOfLine::none) return;
        for (; before != now; ++before) {
            RL_ASSERT(data_.at(before)(RL_INFO).load() == before + 1);
        }
    }
    static void announced() {}
    [[nodiscard]] bool takes_on(std::uint32_t looks) const {
        return traffic_.read() != plan.values && this->goes_on(looks);
    }
    static void received(bool any) { CountModel::tried(any); }

   private:
    using M = typename Way::Machine;
    using Sender = typename Ends::template Sender<typename Way::SenderFar>;
    using Receiver = typename Ends::template Receiver<typename Way::ReceiverNear>;

    void begin(Word* /*place*/) { memory_.begin(0, 1); }
    void begin(MailboxView const& place) {
        format_mailbox(place);
        memory_.begin(std::size_t{place.capacity} * Ends::lines, 1);
    }
    template <class Place>
    [[nodiscard]] Place make_place() {
        if constexpr (std::is_same_v<Place, MailboxView>) {
            return {memory_.lines(), memory_.words(), plan.slots, Ends::lines, plan.first};
        } else {
            return memory_.words();
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    typename Ends::Place place_ = make_place<typename Ends::Place>();
    std::array<rl::var<Word>, plan.values> data_;
    CountTraffic<CountModel> traffic_{*this, plan.values};
};

// Three numbers through a flag or a doorbell.
inline constexpr CountPlan three_numbers{};

}  // namespace carillon::test
