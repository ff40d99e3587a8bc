// SPDX-License-Identifier: Apache-2.0
// A CPU and a device that do all that hardware may do. Both run on one thread, and each may be
// several threads of its own; at every access chance, drawn from a seed, decides which thread goes
// on, which data leave a CPU thread's write-combining buffers, which writes arrive, and how old the
// memory is that a load sees.
//
//   host store -> write-combining buffers -> (host's copy) -> posted writes -> device memory
//   device store ------------------------------------------> posted writes -> host memory
//
// There is a host's copy if memory is not coherent, and there are buffers if device memory is
// mapped as write-combining. Words that CPU threads exchange in host memory, and a device's claims
// in its own memory, arrive at once; a load may still see them late. Only the pointers into
// device_lines() and host_lines() are used during a run, as addresses; before it they are the
// memory's first contents.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adversary/machine/bus.hpp"
#include "adversary/machine/cells.hpp"
#include "adversary/machine/host_copy.hpp"
#include "adversary/machine/posted_writes.hpp"
#include "adversary/machine/trace.hpp"
#include "adversary/machine/write_combining.hpp"
#include "carillon/detail/wire/line.hpp"
#include "testing/fiber.hpp"
#include "testing/random.hpp"

namespace carillon::test {
using namespace detail;

using detail::Fiber;

class Machine {
   public:
    using Body = std::function<void()>;
    struct Thread {
        Side side;
        Body body;
    };
    enum class LoadOrder : std::uint8_t { relaxed, acquire };

    // Memory is zero and nothing is under way.
    void reset(Bus const& bus, std::uint64_t seed, bool traced = false);
    // Runs both sides to their end; returns the error, or "".
    std::string run(Body const& host, Body const& device);
    // Runs up to max_actors - 1 threads in this way.
    std::string run(std::vector<Thread> threads);

    [[nodiscard]] Line* device_lines() { return lines_.data(); }
    [[nodiscard]] Line* host_lines() { return lines_.data() + lines_per_memory; }
    [[nodiscard]] Random& random() { return random_; }
    [[nodiscard]] Trace const& trace() const { return trace_; }
    // The newest value of a word that has arrived, for the test's own checks.
    [[nodiscard]] std::uint64_t arrived(std::uint64_t const* word) const {
        return cells_.newest(cell_at(word));
    }

    // Makes threads stall often and for long, and the host's posted writes slow: some faults show
    // only when much happens in between.
    void drag() {
        chances_.stall = 31;
        chances_.longest_stall = 2000;
        chances_.deliver[index(Side::host)] = 127;
    }

    // Bulk copies take their time.
    void drag_copies() { posted(Side::device).let_copies_linger(); }

    // Everything below is for the bodies. A failure ends the run.
    template <class... Values>
    void require(bool holds, fmt::format_string<Values const&...> text, Values const&... values) {
        if (!holds) [[unlikely]]
            fail(fmt::format(text, values...));
    }
    // Lets the others go on.
    void pause(Side side) { step(side); }
    // Ends the running thread at the next access after `accesses` more. Its buffers are written
    // out, since the kernel's change of threads does that.
    void die_after(std::uint32_t accesses) { lives_[running_] = accesses + 1; }
    // From now on the running thread loads nothing that is older than the present.
    void catch_up() { horizon_[eyes(threads_[running_].side)] = cells_.now(); }

    // The words of one store go together as far as the buffers.
    void store(Side side, void const* to, std::span<std::uint64_t const> words);
    void store_direct(Line const* to, Line const& line);
    void load(Side side, void const* from, std::span<std::uint64_t> words, LoadOrder order);
    // Writes `desired` of a word's value to the word, which threads of `side` share in its memory.
    // Returns the value.
    template <class Desired>
    std::uint64_t exchange(Side side, void const* at, Desired&& desired) {
        step(side);
        Cell const cell = cell_at(at);
        std::uint64_t const before = cells_.newest(cell);
        std::uint64_t const after = desired(before);
        if (after != before) store_own(side, cell, after);
        if (side == Side::host) catch_up();  // a locked instruction
        return before;
    }
    void fence(Side side);
    // A branch on the words that the running thread has loaded of a line decides what it loads from
    // now on: no later load is older. Hardware loads nothing ahead of such a branch, but nothing
    // documents it.
    void decide(Line const* line) {
        Actor const actor = eyes(threads_[running_].side);
        Time& horizon = horizon_[actor];
        Cell const first = cell_at(line);
        for (Cell cell = first; cell != first + cells_per_line; ++cell) {
            horizon = std::max(horizon, cells_.seen(actor, cell));
        }
    }
    // A device's bulk copy: its quads arrive in any order, also relative to the device's other
    // writes and fences. settle_bulk() waits until all copies of the running thread have arrived.
    void store_bulk(void const* to, std::span<Quad const> quads);
    void settle_bulk();
    // Whether bulk copies are in flight, for the test's own checks.
    [[nodiscard]] bool copies() const { return posted_[index(Side::device)].copies(); }
    void read_back(std::uint64_t const* from);
    void flush(void const* where, std::size_t size);
    void invalidate(void const* where, std::size_t size);

   private:
    struct Ended {};
    struct Died {};
    // How often things happen in this run: one in (mask + 1).
    struct Chances {
        std::array<std::uint32_t, 2> deliver;  // what each side has posted
        std::uint32_t evict;
        std::uint32_t change_sides;
        std::uint32_t stall;
        std::uint32_t longest_stall;
        bool ever_evict;
        bool look_back;
    };

    [[noreturn]] static void fail(std::string const& what);
    void draw_chances();
    void start(Actor actor);
    void finish_life(Side side);
    // A thread other than the running one that can go on, or the running one.
    [[nodiscard]] Actor another();
    void store_own(Side side, Cell cell, std::uint64_t word);
    void step(Side side);
    void move_bus(std::uint64_t draw);
    void evict_by_chance();
    void deliver_one(Side writer);
    void post(Side writer, Cell first, std::span<std::uint64_t const> words, bool bulk = false);
    void post_pieces(PartialLine const& part, Pieces pieces);
    void leave_buffer(PartialLine const& part);
    [[nodiscard]] Time time_of_load(Side side);
    [[nodiscard]] Cell cell_at(void const* address) const;
    [[nodiscard]] std::pair<Cell, Cell> whole_atoms(void const* where, std::size_t size) const;
    [[nodiscard]] PostedWrites& posted(Side writer) { return posted_[index(writer)]; }
    [[nodiscard]] WriteCombining& buffers() { return buffers_[running_]; }
    // The actor whose view a load sees, and in whose name a write is posted: the CPU has one copy
    // of memory that is not coherent, and a flush is for all that was written to it.
    static constexpr Actor cpu_eyes = max_actors - 1;
    [[nodiscard]] Actor eyes(Side side) const {
        return side == Side::host && !bus_.coherent() ? cpu_eyes : running_;
    }
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
    std::array<WriteCombining, max_actors> buffers_;
    HostCopy copy_;
    std::array<Time, max_actors> horizon_{};  // a thread's loads see nothing older
    std::uint32_t steps_ = 0;
    std::array<std::uint32_t, max_actors> stalled_until_{};
    std::array<std::uint32_t, max_actors> lives_{};  // accesses left, and 1; 0: no end of them
    std::vector<Thread> threads_;
    std::array<Body, max_actors> guarded_;
    std::array<Fiber, max_actors> fibers_;
    Actor running_ = 0;
    Actor next_ = 0;
    bool ending_ = false;
    std::string failure_;
    bool traced_ = false;
    Trace trace_;
};

}  // namespace carillon::test
