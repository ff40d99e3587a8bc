// SPDX-License-Identifier: Apache-2.0
// The accesses and the fence of a device thread, which the device's policies use: PTX if the code
// is compiled for a GPU, C++ atomics if a CPU thread stands in for one. The policies take a class
// that models these concepts as a parameter: the tests substitute a simulated bus or a model
// checker for DeviceInstructions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/machine/ptx.hpp"
#include "carillon/detail/wire/line.hpp"

#if !defined(__CUDA_ARCH__)
#include <atomic>
#include <chrono>

#include "carillon/detail/machine/cpu_atomics.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/detail/machine/tested_block.hpp"
#endif

namespace carillon::detail {

// Loads of a device thread. Each is one access, except load_pair() of two words.
template <class Gpu>
concept GpuLoads = std::copyable<Gpu> &&
    requires(Gpu const& gpu, Quad const* quad, std::uint64_t const* word) {
    { gpu.load_relaxed(quad) } -> std::same_as<Quad>;
    { gpu.load_acquire(quad) } -> std::same_as<Quad>;
    { gpu.load_acquire(word) } -> std::same_as<std::uint64_t>;
    { gpu.load_pair(word) } -> std::same_as<Quad>;
};

// Relaxed stores, and the fence that orders all before it ahead of all behind it, for every side.
template <class Gpu>
concept GpuStores = std::copyable<Gpu> &&
    requires(Gpu const& gpu, Quad* to, Quad const& quad, std::uint64_t* word, std::uint64_t value) {
    gpu.store_relaxed(to, quad);
    gpu.store_relaxed(word, value);
    gpu.fence_system();
};

// Stores several consecutive lines at once, if the GPU can: the first `count`, at most the
// template's number, with at least `quads` quads of each and `last` of the last one. Or one by one:
// stage_bulk() puts aside line `i`, which is for `to`, and store_staged() stores the first `count`;
// stage_bulk() may also store the line itself. No other row and no store_bulk() of the same number
// may come in between. settle_bulk() waits until all such stores of the thread are written.
template <class Gpu>
concept GpuBulkStores = GpuStores<Gpu> &&
    requires(Gpu const& gpu, Line* to, Line const* from, std::size_t count, std::size_t quads,
             std::size_t last) {
    gpu.template store_bulk<1>(to, from, count, quads, last);
    gpu.template stage_bulk<1>(to, std::uint32_t{}, *from, quads);
    gpu.template store_staged<1>(to, count, quads);
    gpu.settle_bulk();
};

#if defined(__CUDA_ARCH__)
using ThisGpu = Ptx;
#else
// Ptx's members for CPU threads. Each access lets the other threads of a tested block run first.
struct EmulatedGpu {
    CARILLON_HD static Quad load_relaxed(Quad const* from) { return load_acquire(from); }
    // G1: E1 and E3 have the acquire.
    CARILLON_HD static Quad load_acquire(Quad const* from) {
        detail::pass_tested();
        return cpu::load_quad(from);
    }
    CARILLON_HD static std::uint64_t load_acquire(std::uint64_t const* from) {
        detail::pass_tested();
        return cpu::load_word(from);
    }
    CARILLON_HD static void store_relaxed(Quad* to, Quad const& quad) {
        detail::pass_tested();
        cpu::store_quad(to, quad);
    }
    CARILLON_HD static void store_relaxed(std::uint64_t* to, std::uint64_t word) {
        detail::pass_tested();
        cpu::store_word(to, word);
    }
    // Relaxed like a GPU's: claims order nothing.
    CARILLON_HD static std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend) {
        detail::pass_tested();
        return cpu::StdWords::fetch_add(to, addend, std::memory_order_relaxed);
    }
    CARILLON_HD static std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                      std::uint64_t desired) {
        detail::pass_tested();
        return cpu::StdWords::compare_exchange(to, expected, desired, std::memory_order_relaxed);
    }
    // G2, pairs with X1 and E3, among CPU threads.
    CARILLON_HD static void fence_system() { std::atomic_thread_fence(std::memory_order_acq_rel); }
    CARILLON_HD static void keep_whole(Quad const* /*quads*/, std::size_t /*count*/) {}
    CARILLON_HD static void keep_in_memory(Line* /*lines*/) {}

    CARILLON_HD static void sleep(std::uint32_t ns) { cpu::sleep(ns); }
    CARILLON_HD static std::uint64_t global_timer() {
        std::chrono::nanoseconds const now = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(now.count());
    }
    CARILLON_HD static std::uint64_t clock_ticks() { return global_timer(); }
    CARILLON_HD static std::uint32_t sm() { return 0; }
};
using ThisGpu = EmulatedGpu;
#endif

class DeviceInstructions : public ThisGpu {
   public:
    CARILLON_HD static Quad load_pair(std::uint64_t const* from) {
        return load_relaxed(reinterpret_cast<Quad const*>(from));
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
    // Before sm_90 there are as many writes as quads.
    template <std::size_t most>
    CARILLON_HD static void store_bulk(Line* to, Line const* from, std::size_t count,
                                       std::size_t quads, std::size_t last) {
        for (std::size_t i = 0; i < most * quads_per_line; ++i) {
            std::size_t const line = i / quads_per_line;
            std::size_t const index = i % quads_per_line;
            if (line >= count || index >= (line + 1 < count ? quads : last)) continue;
            store_relaxed(&to[line].quads[index], from[line].quads[index]);
        }
    }
    template <std::size_t most>
    CARILLON_HD static void stage_bulk(Line* to, std::uint32_t /*i*/, Line const& line,
                                       std::size_t quads) {
        store_bulk<1>(to, &line, 1, quads, quads);
    }
    template <std::size_t most>
    CARILLON_HD static void store_staged(Line* /*to*/, std::size_t /*count*/,
                                         std::size_t /*quads*/) {}
    CARILLON_HD static void settle_bulk() {}
#endif
};

}  // namespace carillon::detail
