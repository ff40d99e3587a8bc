// SPDX-License-Identifier: Apache-2.0
// DeviceNear and DeviceFar: the access policies of a device thread for its own memory and the
// host's. Compiled for a CPU they are the emulated device's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/device_instructions.hpp"

#if !defined(__CUDA_ARCH__)
#include "carillon/detail/machine/pause.hpp"
#endif

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A device thread on its own memory. Pairs, claims and whole loads are the machine's, if it has
// them.
template <GpuLoads Instructions>
class BasicDeviceNear : public Instructions {
   public:
    CARILLON_HD explicit BasicDeviceNear(Instructions gpu = {}) : Instructions(gpu) {}

    // D1, pairs with H3: an acquire; otherwise the data that a line names could be loaded ahead of
    // it. Only the last load is an acquire: it orders all that follows, and lets the loads be in
    // flight at once.
    [[nodiscard]] CARILLON_HD Line load_line(Line const* from,
                                             std::size_t quads = quads_per_line) const {
        Line line{};
        for (std::size_t i = 0; i + 1 < quads; ++i) {
            line.quads[i] = Instructions::load_relaxed(&from->quads[i]);
        }
        line.quads[quads - 1] = Instructions::load_acquire(&from->quads[quads - 1]);
        return line;
    }
    [[nodiscard]] CARILLON_HD Line load_line_ahead(Line const* from,
                                                   std::size_t quads = quads_per_line) const {
        Line line{};
        for (std::size_t i = 0; i < quads; ++i) {
            line.quads[i] = Instructions::load_relaxed(&from->quads[i]);
        }
        return line;
    }

    [[nodiscard]] CARILLON_HD Quad load_quad(Quad const* from) const {
        return Instructions::load_acquire(from);
    }
    [[nodiscard]] CARILLON_HD Quad load_quad_ahead(Quad const* from) const {
        return Instructions::load_relaxed(from);
    }

    // D1, for a word: a credit or a flag.
    [[nodiscard]] CARILLON_HD std::uint64_t load_word(std::uint64_t const* from) const {
        return Instructions::load_acquire(from);
    }
};

template <GpuStores Instructions>
class BasicDeviceFar {
   public:
    CARILLON_HD explicit BasicDeviceFar(Instructions gpu = {}) : gpu_(gpu) {}
    CARILLON_HD void store_line(Line* to, Line const& line, Tag /*previous*/,
                                std::size_t quads = quads_per_line) const {
        for (std::size_t i = 0; i < quads; ++i) gpu_.store_relaxed(&to->quads[i], line.quads[i]);
    }
    template <std::size_t count>
    CARILLON_HD void store_lines(Line* to, Lines<count> const& lines, std::size_t quads,
                                 Tag previous) const {
        store_lines_by_line(*this, to, lines.line, quads, previous);
    }
    CARILLON_HD void store_quad(Quad* to, Quad const& quad) const { gpu_.store_relaxed(to, quad); }
    CARILLON_HD void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                                    Tag previous) const {
        store_payloads_by_line(*this, to, payloads, count, first, previous);
    }
    CARILLON_HD void store_word(std::uint64_t* to, std::uint64_t value) const {
        gpu_.store_relaxed(to, value);
    }

    // A GPU's stores leave without a commit.
    CARILLON_HD void commit(void const* /*where*/, std::size_t /*size*/) const {}

    // Completes all stores before the block ends.
    CARILLON_HD void settle() const {
        if constexpr (GpuBulkStores<Instructions>) gpu_.settle_bulk();
    }

    // D2, pairs with H5: the thread's earlier writes and reads come before its next line; otherwise
    // the CPU could read old data that a new line names. It is slow on a GPU: only used if there
    // are such data.
    CARILLON_HD void release() const { gpu_.fence_system(); }

   private:
    Instructions gpu_;
};

// DeviceFar for one thread of a block. Messages of several lines, and several messages at once (a
// row, even of one), leave as one write on the bus if the GPU can do that; with `lines_too` also
// single lines. A CPU's root complex takes a GPU's writes one after the other, about 100 ns for
// each: if many blocks answer, they would wait for each other's quads. For a single block it takes
// 30 ns more than a store of each quad (docs/dev/design.md). It does not order data outside the
// message: code with such data uses DeviceFar.
template <GpuBulkStores Instructions>
class BasicDeviceBulkFar : public BasicDeviceFar<Instructions> {
    using Base = BasicDeviceFar<Instructions>;

   public:
    CARILLON_HD explicit BasicDeviceBulkFar(bool lines_too = true, Instructions gpu = {})
        : Base(gpu), gpu_(gpu), lines_too_(lines_too) {}
    CARILLON_HD void store_line(Line* to, Line const& line, Tag previous,
                                std::size_t quads = quads_per_line) const {
        if (quads == 1 || !lines_too_) return Base::store_line(to, line, previous, quads);
        gpu_.template store_bulk<1>(to, &line, 1, quads, quads);
    }
    template <std::size_t count>
    CARILLON_HD void store_lines(Line* to, Lines<count> const& lines, std::size_t quads,
                                 Tag /*previous*/) const {
        gpu_.template store_bulk<count>(to, lines.line, count, quads_per_line,
                                        quads - (count - 1) * quads_per_line);
    }
    template <std::size_t most>
    CARILLON_HD void stage(Line* to, std::uint32_t i, Line const& line, std::size_t quads) const {
        gpu_.template stage_bulk<most>(to, i, line, quads);
    }
    template <std::size_t most>
    CARILLON_HD void store_staged(Line* to, std::size_t count, std::size_t quads) const {
        gpu_.template store_staged<most>(to, count, quads);
    }

   private:
    Instructions gpu_;
    bool lines_too_;
};

using DeviceNear = BasicDeviceNear<DeviceInstructions>;
using DeviceFar = BasicDeviceFar<DeviceInstructions>;
using DeviceBulkFar = BasicDeviceBulkFar<DeviceInstructions>;

// How a device thread waits between failed polls, and its clock.
class DeviceClock {
   public:
    // `oversubscribed`: more threads than processors; matters only on the emulated device.
    CARILLON_HD explicit DeviceClock(bool oversubscribed = false)
        : oversubscribed_(oversubscribed) {}

    // Call it after a failed poll, the last of `polls` in a row: a GPU polls again at once.
    CARILLON_HD void idle(std::uint32_t polls) const {
#if defined(__CUDA_ARCH__)
        (void)polls;
#else
        cpu::pause_or_yield(polls, oversubscribed_);
#endif
    }

    // Sleeps `ns`, at most 1 ms. On a GPU the time is between nothing and twice as long.
    CARILLON_HD void sleep(std::uint32_t ns) const { ThisGpu::sleep(ns); }

    // Nanoseconds from the device's own origin. A GPU's clock ticks about every microsecond.
    [[nodiscard]] CARILLON_HD std::uint64_t now_ns() const { return ThisGpu::global_timer(); }

    // For times too short for now_ns(): cycles of the SM on a GPU.
    [[nodiscard]] CARILLON_HD std::uint64_t ticks() const { return ThisGpu::clock_ticks(); }

    // The calling thread's SM; 0 on the emulated device.
    [[nodiscard]] CARILLON_HD static std::uint32_t sm() { return ThisGpu::sm(); }

   private:
    bool oversubscribed_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
