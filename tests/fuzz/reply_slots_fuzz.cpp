// SPDX-License-Identifier: Apache-2.0
// Slots for replies: the CPU claims those of a pooled kernel whose blocks write anything, and a
// service answers requests that ask anything.
#include "carillon/detail/protocol/reply_slots.hpp"

#include "carillon/detail/protocol/host_call.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t slot_count = 3;

struct Slots {
    std::vector<Line> lines = std::vector<Line>(slot_count);
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(slot_count);
    std::uint64_t next = 0;
    ReplySlots view{lines.data(), words.data(), &next, slot_count};

    Slots() { format_reply_slots(view, 1); }
    Slots(Slots const&) = delete;
    Slots& operator=(Slots const&) = delete;
};

void claim_among_any_replies(Input& input) {
    Slots slots;
    ReplySlotClaim<SeenNear> claim(slots.view);
    bool held = false;
    while (!input.empty()) {
        std::size_t const what = input.below(5);
        if (what == 0) slots.lines[input.below(slot_count)] = input.take<Line>();
        if (what == 1) slots.words[input.below(slot_count)] = input.take<std::uint64_t>();
        if (what == 2) slots.next = input.take<std::uint64_t>();
        if (!held) {
            held = claim.try_claim();
            continue;
        }
        require(claim.address().slot < slot_count, "a slot that is claimed is there");
        Line line;
        if (claim.look<detail::PayloadWords>(line)) {
            claim.give_back();
        } else if (what == 3) {
            claim.give_up();
        } else if (what == 4) {
            slots.lines[claim.address().slot] = with_tag(line, claim.address().number);
            continue;
        } else {
            continue;
        }
        held = false;
    }
}

// Answers as HostService does.
void answer_any_request(Input& input) {
    Slots slots;
    HostReplyWriter<HostMapped> const writer(slots.view, seen_far);
    while (!input.empty()) {
        auto const request = input.take<AddressedRequest<std::uint64_t>>();
        if (request.value % 2 == 0) {
            writer.answer(request.reply_to, request.value);
        } else {
            writer.fail(request.reply_to);
        }
    }
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(reply_slots, input) {
    input.below(2) == 0 ? claim_among_any_replies(input) : answer_any_request(input);
}
