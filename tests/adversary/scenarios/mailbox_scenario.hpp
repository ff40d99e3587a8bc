// SPDX-License-Identifier: Apache-2.0
// One writer and one reader of a mailbox: a flag's promises hold, and values are whole.
#pragma once

#include "adversary/scenarios/flag_scenario.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;

// `lines` of one value; the smallest mailboxes, so that the writer laps its reader often.
template <std::size_t lines, class Far, class Near>
std::string mailbox(Policies const& policies, Side writer, Far far, Near near, OutOfLine data) {
    using Value = SizedWords<lines * mailbox_bytes_per_line>;
    Machine& machine = policies.machine();
    Line* const memory = writer == Side::host ? machine.device_lines() : machine.host_lines();
    // The rest of the memory is the data's.
    std::uint32_t const slots = lines <= 2 ? 2U << machine.random().below(2) : 2;
    Sequence const first =
        machine.random().one_in(2) ? 1 : (Sequence{1} << 32) - machine.random().below(8);
    MailboxView const view{memory + 1, &memory->quads[0].low, slots, mailbox_lines<Value>, first};
    format_mailbox(view);
    MailboxWriter<Value, Far> out(view, far);
    MailboxReader<Value, Near> in(view, near);
    std::uint64_t set = 0;
    Value value = Value::make(0);
    auto const announce = [&] { out.set(Value::make(++set), data); };
    auto const latest = [&] {
        std::uint64_t const before = value.number();
        bool const news = in.refresh(value);
        machine.require(value.whole(), "{} is mixed with another value", value.number());
        machine.require(news == (value.number() != before), "{} is said to be {}", value.number(),
                        news ? "new" : "old");
        return value.number();
    };
    return CountScenario(policies, writer, announce, latest, data).run();
}

}  // namespace carillon::test
