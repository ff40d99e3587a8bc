// SPDX-License-Identifier: Apache-2.0
// Places for replies: the CPU's claims of a pooled kernel's, whose blocks write what they like, and
// the answers of a service that is asked by anything.
#include "carillon/detail/protocol/reply_places.hpp"

#include "carillon/detail/protocol/host_call.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
namespace {

constexpr std::uint32_t place_count = 3;

struct Places {
    std::vector<Line> lines = std::vector<Line>(place_count);
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(place_count);
    std::uint64_t next = 0;
    ReplyPlaces view{lines.data(), words.data(), &next, place_count};

    Places() { format_places(view, 1); }
    Places(Places const&) = delete;
    Places& operator=(Places const&) = delete;
};

void claim_among_any_replies(Input& input) {
    Places places;
    PlaceClaim<SeenNear> claim(places.view);
    bool held = false;
    while (!input.empty()) {
        std::size_t const what = input.below(5);
        if (what == 0) places.lines[input.below(place_count)] = input.take<Line>();
        if (what == 1) places.words[input.below(place_count)] = input.take<std::uint64_t>();
        if (what == 2) places.next = input.take<std::uint64_t>();
        if (!held) {
            held = claim.try_claim();
            continue;
        }
        require(claim.address().place < place_count, "a place that is claimed is there");
        Line line;
        if (claim.look(line)) {
            claim.give_back();
        } else if (what == 3) {
            claim.give_up();
        } else if (what == 4) {
            places.lines[claim.address().place] = with_tag(line, claim.address().number);
            continue;
        } else {
            continue;
        }
        held = false;
    }
}

// As HostService does.
void answer_any_request(Input& input) {
    Places places;
    HostReplyWriter<HostMapped> const writer(places.view, seen_far);
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

CARILLON_FUZZ_TARGET(places, input) {
    input.below(2) == 0 ? claim_among_any_replies(input) : answer_any_request(input);
}
