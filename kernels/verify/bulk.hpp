// SPDX-License-Identifier: Apache-2.0
// Litmus test of answers that leave as bulk copies: every quad of them that the CPU sees, and every
// message that it takes.
#pragma once

#include <cstddef>

#include "kernels/verify/lines.hpp"

namespace carillon::tool {

// The control: words of 8 bytes, those with the tags first.
struct WordByWordFar : detail::DeviceFar {
    CARILLON_POLICY_CODE
    CARILLON_HD void store_line(detail::Line* to, detail::Line const& line,
                                detail::Tag /*previous*/,
                                std::size_t quads = detail::quads_per_line) const {
        store_words(to, &line, 1, quads);
    }
    CARILLON_POLICY_CODE
    template <std::size_t count>
    CARILLON_HD void store_lines(detail::Line* to, detail::Lines<count> const& lines,
                                 std::size_t quads, detail::Tag /*previous*/) const {
        store_words(to, lines.line, count, quads - (count - 1) * detail::quads_per_line);
    }
    CARILLON_POLICY_CODE
    template <std::size_t most>
    CARILLON_HD void stage(detail::Line* to, std::uint32_t /*i*/, detail::Line const& line,
                           std::size_t quads) const {
        store_words(to, &line, 1, quads);
    }
    template <std::size_t most>
    CARILLON_HD void store_staged(detail::Line* /*to*/, std::size_t /*count*/,
                                  std::size_t /*quads*/) const {}

   private:
    // Stores `last` quads of the last line, and all quads of the lines before it.
    CARILLON_POLICY_CODE
    CARILLON_HD void store_words(detail::Line* to, detail::Line const* lines, std::size_t count,
                                 std::size_t last) const {
        std::size_t const quads = (count - 1) * detail::quads_per_line + last;
        for (bool const high : {true, false}) {
            for (std::size_t i = 0; i < quads; ++i) {
                detail::Quad const& quad =
                    lines[i / detail::quads_per_line].quads[i % detail::quads_per_line];
                detail::Quad& there =
                    to[i / detail::quads_per_line].quads[i % detail::quads_per_line];
                store_word(high ? &there.high : &there.low, high ? quad.high : quad.low);
            }
        }
    }
};

// Sends until it is stopped, and announces the end in the status line. It sends one message at a
// time, or up to `row` messages of one line that leave together. `Far` is DeviceBulkFar or
// WordByWordFar.
template <class T, std::uint32_t row, class Far>
struct SendAnswers {
    static constexpr std::uint32_t batch = 16;

    detail::ChannelTable channels;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        Far const far;
        detail::Producer<T, Far, detail::DeviceNear> producer(view.replies, far);
        station.start(block);
        BoundedPolls polls(station.bound);
        bool going_on = true;
        do {
            for (std::uint32_t i = 0; going_on && i < batch; ++i) {
                while (!send(producer, block) && going_on) going_on = polls.again();
                polls.found();
            }
        } while (going_on && !station.stopped());
        far.settle();
        detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&view.status->ended)
            .set(producer.next());
    }

   private:
    CARILLON_POLICY_CODE
    CARILLON_HD static bool send(detail::Producer<T, Far, detail::DeviceNear>& producer,
                                 unsigned block) {
        if constexpr (row == 1) {
            return producer.try_push(T::make(block, producer.next()));
        } else {
            std::uint32_t const wanted = 1 + scramble(detail::tag_of(producer.next()), 0) % row;
            std::uint32_t const count = producer.room_in_a_row(wanted);
            if (count == 0) return false;
            for (std::uint32_t i = 0; i < count; ++i) {
                producer.template stage<row>(i,
                                             detail::pack(T::make(block, producer.next() + i), 0));
            }
            producer.template put_staged<row>(count);
            return true;
        }
    }
};

// The content that a quad may have before the new one is complete.
enum class OldQuad : std::uint8_t {
    whole,        // only the previous content
    new_payload,  // or the new payload already: of two words, the one with the tag comes last
};

// The CPU's side: looks at every quad of the awaited message, and takes and checks the message when
// it is whole.
template <class T, class Near = detail::HostCached, class Far = detail::HostMapped>
class AnswerTaker {
   public:
    AnswerTaker(detail::RingView const& view, std::uint32_t ring, OldQuad old, Near near, Far far)
        : first_(view.first), ring_(ring), old_(old), near_(near), consumer_(view, near, far) {
        expect();
    }

    [[nodiscard]] bool try_take(Findings& findings) {
        look(findings);
        detail::Sequence const number = consumer_.next();
        T message;
        if (!consumer_.try_pop(message)) return false;
        check_numbered(message, ring_, number, findings);
        expect();
        return true;
    }

    [[nodiscard]] detail::Sequence next() const { return consumer_.next(); }

   private:
    // Computes the slot's present content and the content that the next message will have.
    void expect() {
        detail::Sequence const number = consumer_.next();
        detail::Sequence const before = number - consumer_.capacity();
        bool const written = number - first_ >= consumer_.capacity();
        expected_ = detail::pack(T::make(ring_, number), detail::tag_of(number));
        previous_ = written ? detail::pack(T::make(ring_, before), detail::tag_of(before))
                            : with_tag(detail::Packed<T>{}, detail::tag_of(before));
    }

    void look(Findings& findings) {
        std::size_t arrived = 0;
        for (std::size_t i = 0; i < detail::lines_of<T>; ++i) {
            std::size_t const quads = detail::quads_in_line<T>(i);
            detail::Line const* const first = consumer_.awaited() - detail::awaited_line<T>;
            detail::Line const seen = near_.load_line(first + i, quads);
            for (std::size_t q = 0; q < quads; ++q) {
                arrived += check(seen.quads[q], detail::quads_per_line * i + q, findings) ? 1 : 0;
            }
        }
        if (arrived != 0 && arrived != detail::quads_of<T>) ++findings.partly_seen;
    }

    // Whether it is one of the awaited message.
    [[nodiscard]] bool check(detail::Quad const& seen, std::size_t index,
                             Findings& findings) const {
        auto const quad_of = [&](detail::Packed<T> const& message) -> detail::Quad const& {
            return detail::lines_in(message)[index / detail::quads_per_line]
                .quads[index % detail::quads_per_line];
        };
        detail::Quad const& awaited = quad_of(expected_);
        bool const is_new = seen.tag() == awaited.tag();
        if (!is_new && old_ == OldQuad::new_payload) return false;
        if (is_new) ++findings.checks;
        detail::Quad const& expected = is_new ? awaited : quad_of(previous_);
        if (seen.low == expected.low && seen.high == expected.high) [[likely]]
            return is_new;
        auto const word = static_cast<std::uint32_t>(2 * index);
        bool const low = seen.low != expected.low;
        findings.add({Fault::torn, ring_, consumer_.next(), low ? word : word + 1,
                      low ? expected.low : expected.high, low ? seen.low : seen.high});
        return is_new;
    }

    detail::Sequence first_;
    std::uint32_t ring_;
    OldQuad old_;
    Near near_;
    detail::Consumer<T, Near, Far> consumer_;
    detail::Packed<T> expected_;
    detail::Packed<T> previous_;
};

}  // namespace carillon::tool
