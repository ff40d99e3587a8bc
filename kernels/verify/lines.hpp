// SPDX-License-Identifier: Apache-2.0
// Litmus tests of rings: every line's content and order, and that no slot is written too early.
#pragma once

#include "kernels/verify/station.hpp"

namespace carillon::tool {

// A payload that is a function of the ring and of the message's number, in every word.
template <std::uint32_t count>
struct NumberedWords {
    static constexpr std::uint32_t words = count;
    std::uint64_t word[count];

    [[nodiscard]] CARILLON_HD static NumberedWords make(std::uint32_t ring,
                                                        detail::Sequence number) {
        std::uint64_t const base = (number ^ (std::uint64_t{ring} << 48U)) * 0x9e37'79b9'7f4a'7c15U;
        NumberedWords made;
        for (std::uint32_t i = 0; i < count; ++i) {
            made.word[i] = base + i * 0xc2b2'ae3d'27d4'eb4fU;
        }
        return made;
    }
};
// A message that fills so many lines.
template <std::uint32_t lines>
using NumberedLines = NumberedWords<lines * detail::payload_bytes / sizeof(std::uint64_t)>;
using Numbered = NumberedLines<1>;

// Whether a message has the content that belongs to its number.
template <std::uint32_t count>
CARILLON_HD void check_numbered(NumberedWords<count> const& seen, std::uint32_t ring,
                                detail::Sequence number, Findings& findings) {
    auto const expected = NumberedWords<count>::make(ring, number);
    std::uint64_t difference = 0;
    for (std::uint32_t i = 0; i < count; ++i) difference |= seen.word[i] ^ expected.word[i];
    ++findings.checks;
    if (difference == 0) [[likely]]
        return;
    std::uint32_t word = 0;
    while (seen.word[word] == expected.word[word]) ++word;
    findings.add({Fault::content, ring, number, word, expected.word[word], seen.word[word]});
}

// The control: a credit so far ahead that the ring never seems full.
struct IgnoredCredit {
    [[nodiscard]] CARILLON_HD std::uint64_t load_word(std::uint64_t const* /*from*/) const {
        return std::uint64_t{1} << 62U;
    }
};

template <class Near, class Far>
class CheckedConsumer {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD CheckedConsumer(detail::RingView const& view, std::uint32_t ring,
                                Near near = Near(), Far far = Far())
        : view_(view), ring_(ring), near_(near), far_(far), consumer_(view, near, far) {}

    // Takes and checks the next line, or returns false at once when it has not arrived.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_check(Findings& findings) {
        detail::Line line;
        detail::Sequence const number = consumer_.next();
        if (!consumer_.try_take(line)) {
            if ((++missed_ & 15U) == 0) skip_overwritten(findings);
            return false;
        }
        check_numbered(detail::unpack<Numbered>(line), ring_, number, findings);
        return true;
    }

    // Whether every line before `end` was taken; the word is 0 until the end is known.
    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD bool at_end(std::uint64_t end) const {
        return end != 0 && consumer_.next() == end;
    }
    CARILLON_HD void give_up(std::uint64_t end, Findings& findings) const {
        findings.add({Fault::missing, ring_, consumer_.next(), 0, end, consumer_.next()});
    }
    CARILLON_POLICY_CODE
    CARILLON_HD void delay(std::uint32_t most) {
        delayer_.delay(near_, &view_.base->quads[0].low, most);
    }

   private:
    // A newer tag than the awaited one: the line is lost. Goes on with the oldest that may be left.
    CARILLON_POLICY_CODE
    CARILLON_HD void skip_overwritten(Findings& findings) {
        detail::Sequence const awaited = consumer_.next();
        detail::Line const line = near_.load_line(view_.slot(awaited));
        std::uint32_t ahead = 0;
        for (detail::Quad const& quad : line.quads) {
            std::uint32_t const by = quad.tag() - detail::tag_of(awaited);
            if (static_cast<std::int32_t>(by) > static_cast<std::int32_t>(ahead)) ahead = by;
        }
        if (ahead == 0) return;
        ++findings.checks;
        findings.add({Fault::overwritten, ring_, awaited, 0, detail::tag_of(awaited),
                      detail::tag_of(awaited + ahead)});
        detail::RingView rest = view_;
        rest.first = ahead < view_.capacity ? awaited + 1 : awaited + ahead - view_.capacity + 1;
        consumer_ = detail::Consumer<Numbered, Near, Far>(rest, near_, far_);
    }

    detail::RingView view_;
    std::uint32_t ring_;
    std::uint32_t missed_ = 0;
    Delayer delayer_;
    Near near_;
    Far far_;
    detail::Consumer<Numbered, Near, Far> consumer_;
};

// Takes the CPU's messages until the end that the CPU announces in the control line.
struct TakeLines {
    static constexpr std::uint64_t patience_ns = 1'000'000'000;  // for lines before the end

    detail::ChannelTable channels;
    std::uint32_t delay;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        CheckedConsumer<detail::DeviceNear, detail::DeviceFar> consumer(view.requests, block);
        Findings findings;
        std::uint64_t end = 0;
        station.start(block);
        BoundedPolls polls(station.bound);
        while (!consumer.at_end(end)) {
            if (consumer.try_check(findings)) {
                polls.found();
                if (delay != 0) consumer.delay(delay);
                continue;
            }
            if (end == 0) {
                end = detail::DeviceNear().load_word(&view.control->stop);
                if (end != 0) polls = BoundedPolls({patience_ns, station.bound.oversubscribed});
            }
            if (!polls.again()) {
                consumer.give_up(end, findings);
                break;
            }
        }
        station.report(block, findings);
    }
};

// Sends until it is stopped, and announces the end in the status line. Credit: DeviceNear, or
// IgnoredCredit.
template <class Credit>
struct SendLines {
    static constexpr std::uint32_t batch = 64;

    detail::ChannelTable channels;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        detail::Producer<Numbered, detail::DeviceFar, Credit> producer(view.replies);
        station.start(block);
        BoundedPolls polls(station.bound);
        bool going_on = true;
        do {
            for (std::uint32_t i = 0; going_on && i < batch; ++i) {
                Numbered const message = Numbered::make(block, producer.next());
                while (!producer.try_push(message) && going_on) going_on = polls.again();
                polls.found();
            }
        } while (going_on && !station.stopped());
        detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&view.status->ended)
            .set(producer.next());
    }
};

}  // namespace carillon::tool
