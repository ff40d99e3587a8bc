// SPDX-License-Identifier: Apache-2.0
// A CPU and a device that do everything to each other that hardware may do. Both run on one
// thread; at every access chance, drawn from a seed, decides who goes on, what leaves the CPU's
// write-combining buffers, what arrives, and how old the memory is that a load sees.
//
//   host store -> write-combining buffers -> (host's copy) -> posted writes -> device memory
//   device store ------------------------------------------> posted writes -> host memory
//
// The host's copy is there where memory is not coherent, the buffers where device memory is mapped
// as write-combining. Only the pointers into device_lines() and host_lines() are used during a
// run, as addresses; before it they are the memory's first contents.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "adversary/bus.hpp"
#include "adversary/cells.hpp"
#include "adversary/fiber.hpp"
#include "adversary/host_copy.hpp"
#include "adversary/posted_writes.hpp"
#include "adversary/random.hpp"
#include "adversary/trace.hpp"
#include "adversary/write_combining.hpp"
#include "carillon/core/line.hpp"

namespace carillon::test {

class Machine {
   public:
    using Body = std::function<void()>;
    enum class LoadOrder : std::uint8_t { relaxed, acquire };

    // Memory is zero and nothing is under way.
    void reset(Bus const& bus, std::uint64_t seed, bool traced = false);
    // Runs both sides to their end; returns what went wrong, or nothing.
    std::string run(Body const& host, Body const& device);

    [[nodiscard]] Line* device_lines() { return lines_.data(); }
    [[nodiscard]] Line* host_lines() { return lines_.data() + lines_per_memory; }
    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] Trace const& trace() const { return trace_; }
    // What has arrived in a word by now, for the test's own eyes.
    [[nodiscard]] std::uint64_t arrived(std::uint64_t const* word) const {
        return cells_.newest(cell_at(word));
    }

    // Everything below is for the bodies. A failure ends the run.
    template <class... Values>
    void require(bool holds, fmt::format_string<Values const&...> text, Values const&... values) {
        if (!holds) [[unlikely]]
            fail(fmt::format(text, values...));
    }
    // Lets the others go on.
    void pause(Side side) { step(side); }

    // The words of one store go together as far as the buffers.
    void store(Side side, void const* to, std::span<std::uint64_t const> words);
    void store_direct(Line const* to, Line const& line);
    void load(Side side, void const* from, std::span<std::uint64_t> words, LoadOrder order);
    void fence(Side side);
    void read_back(std::uint64_t const* from);
    void flush(void const* where, std::size_t size);
    void invalidate(void const* where, std::size_t size);

   private:
    struct Ended {};
    // How often things happen in this run: one in (mask + 1).
    struct Chances {
        std::array<std::uint32_t, 2> deliver;  // what each side has posted
        std::uint32_t evict;
        std::uint32_t change_sides;
        std::uint32_t stall;
        bool ever_evict;
        bool look_back;
    };

    [[noreturn]] static void fail(std::string const& what);
    void draw_chances();
    void start(Body const& body, Side side);
    void step(Side side);
    void move_bus(std::uint64_t draw);
    void evict_by_chance();
    void deliver_one(Side writer);
    void post(Side writer, Cell first, std::span<std::uint64_t const> words);
    void post_pieces(PartialLine const& part, Pieces pieces);
    void leave_buffer(PartialLine const& part);
    [[nodiscard]] Time time_of_load(Side side);
    [[nodiscard]] Cell cell_at(void const* address) const;
    [[nodiscard]] std::pair<Cell, Cell> whole_atoms(void const* where, std::size_t size) const;
    [[nodiscard]] PostedWrites& posted(Side writer) { return posted_[index(writer)]; }
    [[nodiscard]] Fiber& fiber(Side side) { return fibers_[index(side)]; }
    void note(Event::Kind kind, Side side, Cell cell = cell_count,
              std::span<std::uint64_t const> words = {}) {
        if (traced_) [[unlikely]]
            trace_.add(steps_, kind, side, cell, words);
    }

    alignas(256) std::array<Line, line_count> lines_{};
    Bus bus_;
    Random random_;
    Chances chances_{};
    Cells cells_;
    std::array<PostedWrites, 2> posted_;
    WriteCombining buffers_;
    HostCopy copy_;
    std::array<Time, 2> horizon_{};  // a side's loads see nothing older
    std::uint32_t steps_ = 0;
    std::array<std::uint32_t, 2> stalled_until_{};
    std::array<Body, 2> bodies_;
    std::array<Fiber, 2> fibers_;
    bool ending_ = false;
    std::string failure_;
    bool traced_ = false;
    Trace trace_;
};

}  // namespace carillon::test
