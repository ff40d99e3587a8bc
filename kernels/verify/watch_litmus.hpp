// SPDX-License-Identifier: Apache-2.0
// Litmus tests in which the CPU writes without waiting and blocks watch: torn quads, the order of
// two lines, a flag in another mapping; and the echo that shows how long a store lingers.
#pragma once

#include "kernels/verify/station.hpp"

namespace carillon::tool {

// A line whose every quad shows its version, and whether it is whole.
[[nodiscard]] CARILLON_HD inline detail::Line versioned_line(std::uint32_t version) {
    detail::Line line;
    for (std::uint32_t i = 0; i < detail::quads_per_line; ++i) {
        line.quads[i].low = versioned_word(version, i);
        line.quads[i].high = scramble(version, i + 8) | (std::uint64_t{version} << 32U);
    }
    return line;
}

// How much newer than its tag a quad's payload may be. Never older.
struct Early {
    std::uint32_t low;   // words 0 and 1
    std::uint32_t high;  // word 2
};

// Whether the payload is that of the tag, or of a version that is not too early.
[[nodiscard]] CARILLON_HD inline bool is_whole(detail::Quad const& quad, std::uint32_t index,
                                               Early early) {
    auto const version = static_cast<std::uint32_t>(quad.low);
    auto const word = static_cast<std::uint32_t>(quad.high);
    return quad.low == versioned_word(version, index) && version - quad.tag() <= early.low &&
           (word == scramble(quad.tag(), index + 8) ||
            (early.high != 0 && word == scramble(quad.tag() + 1, index + 8)));
}

// One look at a line, quad after quad. An earlier look's quad that is newer than a later look's
// proves that the line arrived in pieces: expected, and why all four tags are compared.
CARILLON_HD inline void look_at_line(detail::Line const* line, std::uint32_t number,
                                     bool descending, Early early, Findings& findings) {
    detail::DeviceInstructions const device;
    std::uint32_t before = 0;
    bool partly = false;
    for (std::uint32_t i = 0; i < detail::quads_per_line; ++i) {
        std::uint32_t const index = descending ? detail::quads_per_line - 1 - i : i;
        detail::Quad const quad = device.load_acquire(&line->quads[index]);
        if (i != 0 && !not_before(quad.tag(), before)) partly = true;
        before = quad.tag();
        if (quad.tag() == 0) continue;  // not written yet
        ++findings.checks;
        if (!is_whole(quad, index, early)) {
            findings.add({Fault::torn, number, quad.tag(), 4 * index,
                          versioned_word(quad.tag(), index), quad.low});
        }
    }
    if (partly) ++findings.partly_seen;
}

// Calls `look(findings, pass)` until the kernel is stopped, and then once more, to see what was
// written before the stop.
template <class Look>
CARILLON_HD void watch(Station const& station, unsigned block, Look&& look) {
    constexpr std::uint32_t batch = 16;
    Findings findings;
    station.start(block);
    BoundedPolls polls(station.bound);
    for (bool last = false; !last;) {
        last = station.stopped() || !polls.again();
        for (std::uint32_t pass = 0; pass < batch; ++pass) look(findings, pass);
    }
    station.report(block, findings);
}

struct WatchLines {
    detail::Line const* lines;
    std::uint32_t count;
    Early early;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        std::uint32_t const number = block % count;
        watch(station, block, [&](Findings& findings, std::uint32_t pass) {
            look_at_line(lines + number, number, pass % 2 != 0, early, findings);
        });
    }
};

// The line `second` is written after `first`, of the same version.
struct WatchPairs {
    detail::Line const* first;
    detail::Line const* second;
    std::uint32_t count;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        std::uint32_t const number = block % count;
        watch(station, block, [&](Findings& findings, std::uint32_t /*pass*/) {
            detail::Line const later = detail::DeviceNear().load_line(second + number);
            detail::Tag const version = later.quads[0].tag();
            if (version == 0 || !detail::has_arrived(later, version)) return;
            detail::Line const earlier = detail::DeviceNear().load_line(first + number);
            ++findings.checks;
            for (std::uint32_t i = 0; i < detail::quads_per_line; ++i) {
                detail::Tag const seen = earlier.quads[i].tag();
                if (not_before(seen, version)) continue;
                findings.add({Fault::order, number, version, 4 * i + 3, version, seen});
                break;
            }
        });
    }
};

// A flag at the start of each line, and the data that it vouches for.
struct WatchFlags {
    static constexpr std::uint32_t words = 64;  // of data to each flag

    detail::Line const* flags;
    std::uint64_t const* data;
    std::uint32_t count;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        std::uint32_t const number = block % count;
        detail::FlagReader<std::uint32_t, detail::DeviceNear> const flag(
            &flags[number].quads[0].low);
        watch(station, block, [&](Findings& findings, std::uint32_t /*pass*/) {
            std::uint32_t const version = flag.get();
            if (version == 0) return;
            ++findings.checks;
            for (std::uint32_t i = 0; i < words; ++i) {
                std::uint64_t const seen = load_data(data + std::size_t{number} * words + i);
                auto const of = static_cast<std::uint32_t>(seen);
                if (seen == versioned_word(of, i) && not_before(of, version)) continue;
                findings.add(
                    {Fault::stale_data, number, version, i, versioned_word(version, i), seen});
                break;
            }
        });
    }
};

// Answers trial 1, 2, ... with its number: once its line has wholly arrived, or its flag, which is
// the word of a slot's first tag.
struct EchoTrials {
    detail::Line const* slots;
    std::uint32_t count;  // a power of two
    bool flags;
    std::uint64_t* echo;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        constexpr std::uint32_t polls_per_look = 64;  // at the stop word
        detail::FlagWriter<std::uint64_t, detail::DeviceFar> answer(echo);
        station.start(block);
        BoundedPolls polls(station.bound);
        std::uint32_t looks = 0;
        for (std::uint32_t trial = 1;; ++trial) {
            detail::Line const* const slot = slots + (trial & (count - 1));
            while (!came(slot, trial)) {
                if (++looks % polls_per_look == 0 && station.stopped()) return;
                if (!polls.again()) return;
            }
            polls.found();
            answer.set(trial);
        }
    }

   private:
    [[nodiscard]] CARILLON_HD bool came(detail::Line const* slot, detail::Tag trial) const {
        if (flags) return detail::DeviceNear().load_word(&slot->quads[0].high) >> 32U == trial;
        return detail::has_arrived(detail::DeviceNear().load_line(slot), trial);
    }
};

}  // namespace carillon::tool
