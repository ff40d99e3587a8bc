// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace carillon::test {
namespace {

constexpr std::array<std::string_view, 9> names{"stores",      "loads",      "fences",
                                                "evicts",      "arrives",    "flushes",
                                                "invalidates", "reads back", "stalls"};

std::string text_of(Event const& event) {
    bool const of_device = event.side == Side::device;
    std::string text = fmt::format("{:6} {:6} {:11}", event.step, of_device ? "device" : "host",
                                   names.at(static_cast<std::size_t>(event.kind)));
    if (event.cell < cell_count) {
        bool const in_device = memory_of(event.cell) == Side::device;
        Cell const cell = event.cell % (cell_count / 2);
        text += fmt::format(" {}.line{}[{}]", in_device ? "device" : "host", cell / cells_per_line,
                            cell % cells_per_line);
    }
    for (std::size_t i = 0; i != event.words; ++i) text += fmt::format(" {:016x}", event.word[i]);
    return text;
}

bool same_access(Event const& a, Event const& b) {
    return a.kind == b.kind && a.side == b.side && a.cell == b.cell;
}

}  // namespace

void Trace::add(std::uint32_t step, Event::Kind kind, Side side, Cell cell,
                std::span<std::uint64_t const> words) {
    auto const told = std::min(words.size(), std::size_t{2});
    Event event{step, kind, side, static_cast<std::uint8_t>(told), cell, {}};
    std::copy_n(words.begin(), told, event.word.begin());
    if (!is_poll(event)) last_[events_++ % last_.size()] = event;
}

bool Trace::is_poll(Event const& event) const {
    if (event.kind != Event::Kind::load) return false;
    auto const size = static_cast<std::uint32_t>(last_.size());
    for (std::uint32_t i = events_; i != events_ - std::min(events_, size); --i) {
        Event const& earlier = last_[(i - 1) % size];
        if (same_access(earlier, event)) return earlier.word == event.word;
    }
    return false;
}

std::string Trace::text() const {
    std::string text;
    auto const size = static_cast<std::uint32_t>(last_.size());
    for (std::uint32_t i = events_ - std::min(events_, size); i != events_; ++i) {
        text += text_of(last_[i % size]) + '\n';
    }
    return text;
}

}  // namespace carillon::test
