// SPDX-License-Identifier: Apache-2.0
// The CPU's reader of a mailbox whose writer writes anything.
#include "carillon/detail/protocol/mailbox_protocol.hpp"

#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

struct Values {
    unsigned char byte[70];  // three lines, the last one in part
};
constexpr std::uint32_t mailbox_slots = 4;

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(mailbox, input) {
    std::vector<Line> lines(std::size_t{mailbox_slots} * mailbox_lines<Values>);
    std::uint64_t newest = 0;
    MailboxView const view{lines.data(), &newest, mailbox_slots, mailbox_lines<Values>, 1};
    format_mailbox(view);
    MailboxReader<Values, SeenNear> reader(view);
    Values value{};
    while (!input.empty()) {
        std::size_t const what = input.below(4);
        if (what == 0) newest = input.take<std::uint64_t>();
        if (what == 1) newest += input.below(4);
        if (what == 2) lines[input.below(lines.size())] = input.take<Line>();
        if (what == 3) {  // a line that belongs there
            auto const index = static_cast<std::uint32_t>(input.below(mailbox_lines<Values>));
            view.slot(newest)[index] =
                detail::mailbox_line(input.take<Values>(), index, tag_of(newest));
        }
        (void)reader.refresh(value);
    }
}
