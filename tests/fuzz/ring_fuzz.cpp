// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of rings whose other end writes anything: a credit that jumps ahead or runs
// backwards, lines under any tags.
#include "carillon/detail/protocol/ring_protocol.hpp"

#include "fuzz/fuzz.hpp"
#include "support/ring_memory.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t ring_slots = 8;

template <class T>
void push_against_any_credit(Input& input) {
    test::RingMemory ring(ring_slots);
    Producer<T, HostMapped, SeenNear> producer(ring.view(), seen_far);
    std::vector<T> const messages(5 * ring_slots);
    while (!input.empty()) {
        std::size_t const what = input.below(4);
        if (what == 0) ring.credit() = input.take<std::uint64_t>();
        if (what == 1) ring.credit() += input.take<std::uint64_t>() % (3 * ring_slots);
        if (what == 2) (void)producer.try_push(messages.front());
        if (what == 3) {
            std::size_t const pushed =
                producer.try_push_n(messages.data(), input.below(messages.size() + 1));
            require(pushed <= ring_slots, "no more messages go at once than there are slots");
        }
    }
}

void pop_any_lines(Input& input) {
    test::RingMemory ring(ring_slots);
    Consumer<test::Whole, SeenNear, HostMapped> consumer(ring.view(), SeenNear(), seen_far);
    std::vector<test::Whole> messages(2 * ring_slots);
    while (!input.empty()) {
        std::size_t const what = input.below(3);
        if (what == 0) ring.slot(input.below(ring_slots)) = input.take<Line>();
        if (what == 1) {
            ring.slot((consumer.next() - 1) % ring_slots) =
                with_tag(input.take<Line>(), tag_of(consumer.next()));
        }
        if (what == 2) (void)consumer.try_pop_n(messages.data(), messages.size());
        require(consumer.held() <= ring_slots, "credits go back within a lap");
    }
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(ring, input) {
    switch (input.below(3)) {
        case 0:
            return push_against_any_credit<test::Whole>(input);
        case 1:
            return push_against_any_credit<int>(input);
        default:
            return pop_any_lines(input);
    }
}
