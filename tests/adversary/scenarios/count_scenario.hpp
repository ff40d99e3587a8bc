// SPDX-License-Identifier: Apache-2.0
// CountTraffic through a flag, a doorbell or a mailbox of the adversary's machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/seeds.hpp"
#include "support/sized.hpp"
#include "traffic/count_traffic.hpp"

namespace carillon::test {
using namespace detail;

template <class Ends, class Far, class Near>
class CountScenario : public AdversaryWorld {
   public:
    CountScenario(Policies const& policies, typename Ends::Place const& place, Side writer, Far far,
                  Near near, OutOfLine data)
        : AdversaryWorld(policies),
          side_(writer),
          sender_(place, far, data),
          receiver_(place, near),
          data_(data),
          words_(policies, writer),
          traffic_(*this, 12 + machine_.random().below(13)) {}

    std::string run() {
        Machine::Body const write = [this] {
            traffic_.write(sender_);
            finished_ = true;
        };
        Machine::Body const read = [this] { traffic_.read(receiver_); };
        return side_ == Side::host ? machine_.run(write, read) : machine_.run(read, write);
    }

    void write_data(std::uint64_t number) const {
        if (data_ == OutOfLine::none) return;
        words_.write(0, number);
        words_.write(second_word, number);
    }
    // The words may be newer than the value that announced them, never older.
    void check_data(std::uint64_t /*before*/, std::uint64_t now) const {
        if (data_ == OutOfLine::none) return;
        std::uint64_t const second = words_.read(second_word);
        std::uint64_t const first = words_.read(0);
        require(first >= now && second >= now, "{} with the data of {} and {}", now, first, second);
    }
    // Now and then the value arrives without any further store by the writer.
    void announced() const {
        if (!traffic_.all_written() && !machine_.random().one_in(4)) return;
        while (!traffic_.up_to_date()) machine_.pause(side_);
    }
    [[nodiscard]] bool takes_on(std::uint32_t /*looks*/) const { return !finished_; }
    static void received(bool /*any*/) {}

   private:
    static constexpr std::uint32_t second_word = 9;  // in another line than word 0

    Side side_;  // the writer's
    typename Ends::template Sender<Far> sender_;
    typename Ends::template Receiver<Near> receiver_;
    OutOfLine data_;
    OutOfLineWords words_;
    CountTraffic<CountScenario> traffic_;
    bool finished_ = false;  // between the bodies, past the machine
};

[[nodiscard]] inline Line* lines_written_by(Side writer, Machine& machine) {
    return writer == Side::host ? machine.device_lines() : machine.host_lines();
}

// Ends: AsFlag or AsDoorbell.
template <class Ends, class Far, class Near>
std::string count(Policies const& policies, Side writer, Far far, Near near, OutOfLine data) {
    auto* const word = &lines_written_by(writer, policies.machine())->quads[0].low;
    return CountScenario<Ends, Far, Near>(policies, word, writer, far, near, data).run();
}

// `lines` of one value; the smallest mailboxes, so that the writer laps its reader often.
template <std::size_t lines, class Far, class Near>
std::string mailbox(Policies const& policies, Side writer, Far far, Near near, OutOfLine data) {
    using Value = SizedWords<lines * mailbox_bytes_per_line>;
    Machine& machine = policies.machine();
    Line* const memory = lines_written_by(writer, machine);
    // The rest of the memory is the data's.
    std::uint32_t const slots = lines <= 2 ? 2U << machine.random().below(2) : 2;
    Sequence const first =
        machine.random().one_in(2) ? 1 : (Sequence{1} << 32) - machine.random().below(8);
    MailboxView const view{memory + 1, &memory->quads[0].low, slots, mailbox_lines<Value>, first};
    format_mailbox(view);
    return CountScenario<AsMailbox<Value>, Far, Near>(policies, view, writer, far, near, data)
        .run();
}

}  // namespace carillon::test
