// SPDX-License-Identifier: Apache-2.0
// The GPU's accesses in PTX, for the device's policies. Empty if code is compiled for a CPU.
//
// A quad is accessed as the scalar type .b128 (PTX ISA 8.3 and later, sm_70 and later), not as a
// vector: the memory consistency model treats a vector access as separate accesses to its elements
// in no order (PTX ISA, Memory Consistency Model, "Vector Data-types"). Towards a CPU, PTX defers
// to the platform; docs/dev/guarantees.md lists the guarantees that we rely on across the bus, and
// the reasons.
#pragma once

#if defined(__CUDA_ARCH__)
#include <cstddef>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

struct Ptx {
    // The address of a load that differs between lanes, as far as the compiler can know. If all
    // lanes load from one address, the compiler moves the result to the warp's uniform registers,
    // and then waits for each load before the next (nvcc 13.0, sm_90: 300 ns on a round trip).
    __device__ static std::size_t of_lane(Quad const* from) {
        std::uint32_t one;
        asm("{\n\t.reg .u32 mask;\n\tmov.u32 mask, %%lanemask_eq;\n\tpopc.b32 %0, mask;\n\t}"
            : "=r"(one));
        return __cvta_generic_to_global(from - 1 + one);
    }

    __device__ static Quad load_relaxed_at(std::size_t address) {
        Quad quad;
        asm volatile(
            "{\n\t.reg .b128 quad;\n\t"
            "ld.relaxed.sys.global.b128 quad, [%2];\n\t"
            "mov.b128 {%0, %1}, quad;\n\t}"
            : "=l"(quad.low), "=l"(quad.high)
            : "l"(address)
            : "memory");
        return quad;
    }

    // Orders nothing: an acquire follows (G1), of the line's last quad or of the line itself.
    __device__ static Quad load_relaxed(Quad const* from) { return load_relaxed_at(of_lane(from)); }

    // Loads 16 bytes or one byte of host memory, as it is now: no cache of the GPU serves a load of
    // system scope. Every thread has its own address. Orders nothing: the CPU wrote the data before
    // a line, and this load comes after that line's acquire (G1).
    __device__ static Quad load_host(Quad const* from) {
        return load_relaxed_at(__cvta_generic_to_global(from));
    }
    __device__ static unsigned char load_host(unsigned char const* from) {
        std::uint32_t byte;
        asm volatile("ld.relaxed.sys.global.u8 %0, [%1];"
                     : "=r"(byte)
                     : "l"(__cvta_generic_to_global(from))
                     : "memory");
        return static_cast<unsigned char>(byte);
    }

    // G1, pairs with X3 across the bus and with G2: otherwise the thread could load data that the
    // line names ahead of the line.
    __device__ static Quad load_acquire(Quad const* from) {
        Quad quad;
        asm volatile(
            "{\n\t.reg .b128 quad;\n\t"
            "ld.acquire.sys.global.b128 quad, [%2];\n\t"
            "mov.b128 {%0, %1}, quad;\n\t}"
            : "=l"(quad.low), "=l"(quad.high)
            : "l"(of_lane(from))
            : "memory");
        return quad;
    }

    // Orders nothing: if the quad refers to data, a fence goes before it (G2).
    __device__ static void store_relaxed(Quad* to, Quad quad) {
        asm volatile(
            "{\n\t.reg .b128 quad;\n\t"
            "mov.b128 quad, {%1, %2};\n\t"
            "st.relaxed.sys.global.b128 [%0], quad;\n\t}" ::"l"(__cvta_generic_to_global(to)),
            "l"(quad.low), "l"(quad.high)
            : "memory");
    }

    // Uses every word of `quads`, without effect. ptxas keeps only the words of a loaded quad that
    // are used somewhere. If only the tag is used, the load becomes one of 32 bits, and its
    // register may be one of an earlier load, for which it then waits: one more trip to the L2
    // cache in every poll (nvcc 13.0, sm_90, 16 bytes out and 8 back: 230 to 260 ns of 1900). If
    // all words are used together, even on a rare path, each has its own register. ptxas ignores an
    // empty asm statement. This one sleeps for 0 ns once in 2^32 times. Pinned: ctest -L sass.
    __device__ static void keep_whole(Quad const* quads, std::size_t count) {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < count; ++i) all ^= quads[i].low ^ quads[i].high;
        asm volatile(
            "{\n\t.reg .pred once;\n\t"
            "setp.eq.u32 once, %0, %1;\n\t"
            "@once nanosleep.u32 0;\n\t}" ::"r"(static_cast<std::uint32_t>(all)),
            "r"(static_cast<std::uint32_t>(~all >> 32)));
    }

    // Gives the lines an address that the compiler cannot see through. Otherwise ptxas would load
    // lines that do not fit into registers, wait for them and spill them quad by quad (nvcc 13.0:
    // 80 trips to the L2 cache for 1 KiB).
    __device__ static void keep_in_memory(Line* lines) { asm volatile("" ::"l"(lines) : "memory"); }

#if __CUDA_ARCH__ >= 900
    // The bulk copy engine sends consecutive lines from shared memory, as one write on the bus of
    // up to 128 bytes. docs/dev/guarantees.md gives the reason why a quad arrives whole. It orders
    // nothing. One thread of a block uses it.

    // The address in shared memory of the lines to be sent.
    template <std::size_t most>
    [[nodiscard]] __device__ static std::uint32_t staged_lines() {
        __shared__ Line staged[most];
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(staged));
    }
    // Waits until the lines put there before have been read.
    __device__ static void await_staged() {
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __device__ static void store_shared(std::uint32_t to, Quad const& quad) {
        asm volatile("st.shared.v2.u64 [%0], {%1, %2};" ::"r"(to), "l"(quad.low), "l"(quad.high)
                     : "memory");
    }
    __device__ static void send_staged(Line* to, std::uint32_t shared, std::size_t bytes) {
        asm volatile(
            "fence.proxy.async.shared::cta;\n\t"
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
            "cp.async.bulk.commit_group;" ::"l"(__cvta_generic_to_global(to)),
            "r"(shared), "r"(static_cast<std::uint32_t>(bytes))
            : "memory");
    }

    // Sends the first `count` lines, at most `most`: the first `quads` quads of each and `last` of
    // the last one. Quads in between are sent too, and have no meaning.
    template <std::size_t most>
    __device__ static void store_bulk(Line* to, Line const* from, std::size_t count,
                                      std::size_t quads, std::size_t last) {
        std::uint32_t const shared = staged_lines<most>();
        await_staged();
        for (std::size_t i = 0; i < most * quads_per_line; ++i) {
            std::size_t const line = i / quads_per_line;
            std::size_t const index = i % quads_per_line;
            if (line >= count || index >= (line + 1 < count ? quads : last)) continue;
            store_shared(shared + static_cast<std::uint32_t>(i * sizeof(Quad)),
                         from[line].quads[index]);
        }
        send_staged(to, shared, (count - 1) * sizeof(Line) + last * sizeof(Quad));
    }

    // The two halves of store_bulk(): stage lines from number 0 on, and then send the first
    // `count`.
    template <std::size_t most>
    __device__ static void stage_bulk(Line* /*to*/, std::uint32_t i, Line const& line,
                                      std::size_t quads) {
        if (i == 0) await_staged();
        std::uint32_t const shared = staged_lines<most>() + i * sizeof(Line);
        for (std::uint32_t q = 0; q < quads; ++q) {
            store_shared(shared + q * static_cast<std::uint32_t>(sizeof(Quad)), line.quads[q]);
        }
    }
    template <std::size_t most>
    __device__ static void store_staged(Line* to, std::size_t count, std::size_t quads) {
        send_staged(to, staged_lines<most>(), (count - 1) * sizeof(Line) + quads * sizeof(Quad));
    }

    // Waits until this thread's lines are written: call it before the block's shared memory ends.
    __device__ static void settle_bulk() {
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
#endif

    // G1, for a word: otherwise data for which the word vouches could be loaded ahead of it.
    __device__ static std::uint64_t load_acquire(std::uint64_t const* from) {
        std::uint64_t word;
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
                     : "=l"(word)
                     : "l"(__cvta_generic_to_global(from))
                     : "memory");
        return word;
    }

    // Orders nothing: G2 goes before it if something has to be seen before the word.
    __device__ static void store_relaxed(std::uint64_t* to, std::uint64_t word) {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                     "l"(word)
                     : "memory");
    }

    // For claim words, which only this GPU's threads touch. They order nothing.
    __device__ static std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend) {
        std::uint64_t previous;
        asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                     : "=l"(previous)
                     : "l"(__cvta_generic_to_global(to)), "l"(addend)
                     : "memory");
        return previous;
    }

    // Relaxed like the addition.
    __device__ static std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                     std::uint64_t desired) {
        std::uint64_t previous;
        asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(previous)
                     : "l"(__cvta_generic_to_global(to)), "l"(expected), "l"(desired)
                     : "memory");
        return previous;
    }

    // G2, pairs with X1 across the bus and with G1: otherwise the thread's earlier writes and reads
    // could come after its next line or credit.
    __device__ static void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

    __device__ static std::uint64_t global_timer() {
        std::uint64_t ns;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
        return ns;
    }

    // Stays at its place in the program: the loads and atomics beside it are volatile too.
    __device__ static std::uint64_t clock_ticks() {
        std::uint64_t ticks;
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks)::"memory");
        return ticks;
    }

    // PTX ISA: nanosleep, sm_70. Sleeps from nothing to twice `ns`, which is at most 1 ms.
    __device__ static void sleep(std::uint32_t ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

    __device__ static std::uint32_t sm() {
        std::uint32_t id;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
        return id;
    }
};

}  // namespace carillon::detail
#endif
