// SPDX-License-Identifier: Apache-2.0
// Litmus test of the beginning of a ring: the consumer chooses one page of each pair while the
// producer sends already. A ring lives for a round: its next life goes on with the numbers, so that
// every slot of either page has a tag that is no longer awaited.
#pragma once

#include <cstdint>

#include "kernels/verify/lines.hpp"

namespace carillon::tool {

// How many messages a ring has in a round: both sides know.
[[nodiscard]] CARILLON_HD constexpr std::uint32_t messages_of(std::uint32_t ring,
                                                              std::uint64_t round) {
    return 1 + scramble(static_cast<std::uint32_t>(round), ring) % 128;
}

// Makes the library's atomics, but then takes any page, since the nearer one never changes.
struct AnyPage {
    CARILLON_POLICY_CODE
    template <class Near>
    [[nodiscard]] CARILLON_HD unsigned operator()(Near const& near, std::uint64_t* first,
                                                  std::size_t stride, std::uint64_t never) const {
        unsigned const nearest = detail::NearestPage()(near, first, stride, never);
        auto const round = static_cast<std::uint32_t>(never >> 32U);
        auto const pair =
            static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first) / stride);
        return (nearest ^ (scramble(round, pair) >> 16U)) & 1U;
    }
};

// The control: until it hears of a choice, all messages go to the first page alone.
class FirstPage : public detail::ToldPages {
   public:
    using detail::ToldPages::ToldPages;

    [[nodiscard]] CARILLON_HD static detail::Line* other(detail::RingSlots const& view,
                                                         detail::Sequence sequence) {
        return view.slot(sequence);
    }
};

// Takes the messages of each round that the CPU announces in the control line, and announces the
// end of the round in the status line.
template <class T>
struct TakeRounds {
    detail::ChannelTable channels;
    std::uint64_t patience_ns;  // for the messages of a round
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        detail::RingView ring = view.requests;
        Findings findings;
        station.start(block);
        for (std::uint64_t round = 1; begins(round, view.control->stop); ++round) {
            detail::Sequence const end = ring.first + messages_of(block, round);
            take(ring, block, end, findings);
            ring.first = end;
            // The choice of pages that it reported is visible before: the CPU clears it for the
            // next round.
            detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&view.status->ended)
                .set(round, OutOfLine::written);
        }
        station.report(block, findings);
    }

   private:
    using PagedConsumer = detail::Consumer<T, detail::DeviceNear, detail::DeviceFar,
                                           detail::OneThread, detail::ChosenPages<AnyPage>>;

    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool begins(std::uint64_t round,
                                          std::uint64_t const& announced) const {
        BoundedPolls polls(station.bound);
        while (detail::DeviceNear().load_word(&announced) < round) {
            if (station.stopped() || !polls.again()) return false;
        }
        return true;
    }

    CARILLON_POLICY_CODE
    CARILLON_HD void take(detail::RingView const& ring, std::uint32_t number, detail::Sequence end,
                          Findings& findings) const {
        PagedConsumer consumer(ring);
        detail::Packed<T> message;
        BoundedPolls polls({patience_ns, station.bound.oversubscribed});
        while (consumer.next() != end) {
            detail::Sequence const awaited = consumer.next();
            if (consumer.try_take(message)) {
                check_numbered(detail::unpack<T>(message), number, awaited, findings);
                polls.found();
            } else if (!polls.again()) {
                findings.add({Fault::missing, number, awaited, 0, end, awaited});
                return;
            }
        }
        if (consumer.try_take(message)) {
            findings.add({Fault::twice, number, end, 0, end - 1, end});
        }
    }
};

}  // namespace carillon::tool
