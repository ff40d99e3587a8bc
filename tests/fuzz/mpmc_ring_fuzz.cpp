// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of MPMC rings whose other ends write anything into their words and lines.
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

#include "fuzz/fuzz.hpp"
#include "support/mpmc_ring_memory.hpp"
#include "support/ring_memory.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t mpmc_slots = 16;
constexpr std::uint32_t mpmc_stripe = 4;

void push_against_any_credits(Input& input) {
    test::MpmcRingSlots ring(mpmc_slots, mpmc_stripe);
    MpmcRingView const& view = ring.view();
    MpmcProducer<test::Whole, HostMapped, SeenNear, ClaimRecord> producer(
        view, seen_far, SeenNear(), ClaimRecord(ring.record(0)));
    std::vector<test::Whole> const messages(3 * mpmc_slots);
    Claim held[1];
    while (!input.empty()) {
        std::uint64_t& credit = view.credits[input.below(mpmc_slots / mpmc_stripe)];
        std::size_t const what = input.below(4);
        if (what == 0) credit = input.take<std::uint64_t>();
        if (what == 1) credit += mpmc_slots;
        if (what == 2) {
            std::size_t const pushed =
                producer.try_push_n(messages.data(), input.below(messages.size() + 1));
            require(pushed <= mpmc_slots, "no more messages go at once than there are slots");
        }
        if (what == 3) {
            auto const record = [&](std::size_t i) { return ring.record(i); };
            (void)give_up_claims(view, 1, record, seen_far, SeenNear(), held);
        }
    }
}

void take_any_lines(Input& input) {
    test::MpmcRingSlots const ring(mpmc_slots, mpmc_stripe);
    MpmcRingView const& view = ring.view();
    MpmcConsumer<test::Whole, SeenNear, HostMapped, OneThread> consumer(view, SeenNear(), seen_far);
    Sequence next = 1;
    while (!input.empty()) {
        std::size_t const what = input.below(4);
        if (what == 0) view.base[input.below(mpmc_slots)] = input.take<Line>();
        if (what == 1) *view.claimed = input.take<std::uint64_t>();
        if (what == 2) view.base[view.index(next)] = with_tag(input.take<Line>(), tag_of(next));
        if (what != 3) continue;
        (void)consumer.poll([&](test::Whole const&, Sequence number) {
            require(number == next, "one consumer takes lines in their order");
            ++next;
        });
    }
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(mpmc_ring, input) {
    input.below(2) == 0 ? push_against_any_credits(input) : take_any_lines(input);
}
