// SPDX-License-Identifier: Apache-2.0
// The effect of each access: where its words wait, and when a load sees them.
#include <algorithm>
#include <numeric>

#include "adversary/machine/machine.hpp"

namespace carillon::test {
using namespace detail;

void Machine::store(Side side, void const* to, std::span<std::uint64_t const> words) {
    step(side);
    Cell const first = cell_at(to);
    note(Event::Kind::store, side, first, words);
    if (memory_of(first) == side) {
        if (side == Side::device || words.size() != 1) fail("a store to near memory");
        return store_own(side, first, words[0]);
    }
    if (side == Side::device) return post(side, first, words);
    if (!bus_.write_combining) return copy_.store(first, words);
    buffers().store(first, words, random_, [this](PartialLine const& part) { leave_buffer(part); });
}

void Machine::store_own(Side side, Cell cell, std::uint64_t word) {
    if (memory_of(cell) != side) fail("a word of far memory taken for a near one");
    cells_.write(cell, {&word, 1});
    cells_.see_newest(eyes(side), cell);
    if (side == Side::host && !bus_.coherent()) copy_.store_own(cell, word);
}

// Past the buffers, and in whole quads on every bus.
void Machine::store_direct(Line const* to, Line const& line) {
    step(Side::host);
    Cell const first = cell_at(to);
    PartialLine whole{first / cells_per_line, (1U << cells_per_line) - 1, {}};
    for (std::uint32_t i = 0; i != cells_per_line; ++i) {
        whole.word[i] = i % 2 == 0 ? line.quads[i / 2].low : line.quads[i / 2].high;
    }
    note(Event::Kind::store, Side::host, first, whole.word);
    buffers().evict_line(whole.line, [this](PartialLine const& part) { leave_buffer(part); });
    if (bus_.coherent()) {
        post_pieces(whole, Pieces::quads);
    } else {
        copy_.store(whole);
    }
}

void Machine::load(Side side, void const* from, std::span<std::uint64_t> words, LoadOrder order) {
    step(side);
    Cell const first = cell_at(from);
    if (memory_of(first) != side) fail("a load from far memory");  // invariant 1
    Time const time = side == Side::host && !bus_.coherent()
                          ? copy_.read(first, words)
                          : cells_.read(eyes(side), first, time_of_load(side), words);
    Time& horizon = horizon_[eyes(side)];
    if (order == LoadOrder::acquire) horizon = std::max(horizon, time);
    note(Event::Kind::load, side, first, words);
}

Time Machine::time_of_load(Side side) {
    Time const now = cells_.now();
    if (!chances_.look_back || random_.one_in(2)) return now;
    Time const horizon = horizon_[eyes(side)];
    return horizon + random_.below(now - horizon + 1);
}

void Machine::fence(Side side) {
    step(side);
    note(Event::Kind::fence, side);
    if (side == Side::host) {
        buffers().evict_all(random_, [this](PartialLine const& part) { leave_buffer(part); });
        if (!bus_.coherent()) return;  // what the copy holds is ordered by flushes only
    }
    posted(side).fence(eyes(side));
}

void Machine::store_bulk(void const* to, std::span<Quad const> quads) {
    step(Side::device);
    Cell const first = cell_at(to);
    if (memory_of(first) != Side::host) fail("a bulk copy to near memory");
    std::array<std::uint32_t, 16 * quads_per_line> order;
    std::iota(order.begin(), order.begin() + quads.size(), 0U);
    for (std::size_t i = 0; i != quads.size(); ++i) {
        auto const left = static_cast<std::uint32_t>(quads.size() - i);
        std::swap(order[i], order[i + random_.below(left)]);
        Quad const& quad = quads[order[i]];
        std::array const words{quad.low, quad.high};
        note(Event::Kind::store, Side::device, first + 2 * order[i], words);
        post(Side::device, first + 2 * order[i], words, true);
    }
}

void Machine::settle_bulk() {
    while (posted(Side::device).copies(running_)) step(Side::device);
}

// A read does not overtake the writes that were posted before it.
void Machine::read_back(std::uint64_t const* from) {
    step(Side::host);
    note(Event::Kind::read_back, Side::host);
    if (memory_of(cell_at(from)) != Side::device) fail("a read-back of host memory");
    while (!posted(Side::host).empty()) deliver_one(Side::host);
}

void Machine::flush(void const* where, std::size_t size) {
    auto const [first, last] = whole_atoms(where, size);
    note(Event::Kind::flush, Side::host, first);
    for (Cell cell = first; cell != last; cell += cells_per_line) {
        step(Side::host);
        copy_.write_out(cell / cells_per_line,
                        [this](PartialLine const& whole) { post_pieces(whole, bus_.pieces); });
    }
    posted(Side::host).fence(eyes(Side::host));
}

void Machine::invalidate(void const* where, std::size_t size) {
    step(Side::host);
    auto const [first, last] = whole_atoms(where, size);
    note(Event::Kind::invalidate, Side::host, first);
    if (memory_of(first) != Side::host) fail("an invalidate of far memory");
    for (Cell cell = first; cell != last; cell += 2) {
        std::array<std::uint64_t, 2> words;
        Time const time = cells_.read(eyes(Side::host), cell, time_of_load(Side::host), words);
        copy_.refresh(cell, time, words);
    }
}

std::pair<Cell, Cell> Machine::whole_atoms(void const* where, std::size_t size) const {
    Cell const atom = bus_.atom / sizeof(std::uint64_t);
    Cell const first = cell_at(where);
    Cell const last = first + static_cast<Cell>(size / sizeof(std::uint64_t));
    return {first / atom * atom, (last + atom - 1) / atom * atom};
}

Cell Machine::cell_at(void const* address) const {
    // Subtracts numbers and not pointers: a wrong address may be anywhere.
    auto const offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(lines_.data());
    if (offset >= sizeof(lines_) || offset % sizeof(std::uint64_t) != 0) {
        fail("an access outside memory");
    }
    return static_cast<Cell>(offset / sizeof(std::uint64_t));
}

// Posts the pieces in any order. Half a quad goes as a word.
void Machine::post_pieces(PartialLine const& part, Pieces pieces) {
    note(Event::Kind::evict, Side::host, part.line * cells_per_line);
    std::uint32_t const size = pieces == Pieces::quads ? 2 : 1;
    std::uint32_t const count = cells_per_line / size;
    std::array<std::uint32_t, cells_per_line> order;
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t i = 0; i != count; ++i) {
        std::swap(order[i], order[i + random_.below(count - i)]);
        std::uint32_t first = order[i] * size;
        std::uint32_t last = first + size;
        while (first != last && (part.mask & 1U << first) == 0) ++first;
        while (first != last && (part.mask & 1U << (last - 1)) == 0) --last;
        if (first == last) continue;
        post(Side::host, part.line * cells_per_line + first,
             std::span(part.word).subspan(first, last - first));
    }
}

void Machine::leave_buffer(PartialLine const& part) {
    if (bus_.coherent()) {
        post_pieces(part, bus_.pieces);
    } else {
        copy_.store(part);
    }
}

}  // namespace carillon::test
