// SPDX-License-Identifier: Apache-2.0
// The accesses and fences of an x86 CPU, which the host's policies use. The policies take a class
// that models these concepts as a parameter: the tests substitute a simulated bus or a model
// checker for X86.
#pragma once

#include <emmintrin.h>
#include <xmmintrin.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "carillon/detail/machine/cpu_atomics.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail::cpu {

// Fetches the line of an address, and its translation. For write-combining and uncached memory an
// x86 CPU only looks up the page (Intel SDM, PREFETCHh).
inline void prefetch(void const* where) {
    _mm_prefetch(static_cast<char const*>(where), _MM_HINT_T0);
}

// Fetches a function's first lines into the caches that data and code share.
template <class Function>
void prefetch_code(Function* function, std::size_t lines) {
    auto const* const code = reinterpret_cast<char const*>(function);
    for (std::size_t i = 0; i < lines; ++i) prefetch(code + i * 64);
}

}  // namespace carillon::detail::cpu

namespace carillon::detail {

// The instruction that stores a line; the narrowest first.
enum class StoreKind : std::uint8_t {
    cached,     // two 8-byte atomics per quad: for cached memory, the emulated device's
    sse2,       // four 16-byte streaming stores
    avx2,       // two 32-byte streaming stores
    avx512,     // one 64-byte streaming store
    movdir64b,  // one 64-byte direct store, which the CPU documents as a single write
};

// one_step stores payload and tags together. two_step stores the payload under the slot's previous
// tags, fences, and stores the tags. CPUs without MOVDIR64B need that, because their
// write-combining buffers may be evicted in 8-byte pieces half way through a line.
enum class PublishMode : std::uint8_t { one_step, two_step };

// The traits of a kind.
struct StoreTraits {
    StoreKind kind;
    std::string_view name;
    std::string_view feature;  // the CPU's, as in /proc/cpuinfo; empty: all CPUs have it
    std::size_t width;         // bytes that one instruction stores
    PublishMode mode;          // for a single line in the kind's memory
};

// The traits of all kinds, in their order.
[[nodiscard]] std::span<StoreTraits const> store_table();
[[nodiscard]] StoreTraits const& traits_of(StoreKind kind);

[[nodiscard]] std::string_view to_string(StoreKind kind);
[[nodiscard]] std::string_view to_string(PublishMode mode);

// Whether this CPU has the instruction.
[[nodiscard]] bool supported(StoreKind kind);

// Acquire loads of a CPU. Each is one access.
template <class Cpu>
concept CpuLoads = std::copyable<Cpu> &&
    requires(Cpu const& cpu, Quad const* quad, std::uint64_t const* word) {
    { cpu.load_quad(quad) } -> std::same_as<Quad>;
    { cpu.load_word(word) } -> std::same_as<std::uint64_t>;
};

// Stores a word to any memory; in cached memory it comes after every earlier store and load.
template <class Cpu>
concept CpuStores = std::copyable<Cpu> &&
    requires(Cpu const& cpu, std::uint64_t* word, std::uint64_t value) {
    cpu.store_word(word, value);
};

// Stores into mapped memory of the other side. store_fence() orders earlier stores ahead of later
// ones and makes them leave; read_back() waits until they have arrived.
template <class Cpu>
concept CpuMappedStores = CpuStores<Cpu> && requires(Cpu const& cpu, StoreKind kind, Line* to,
                                                     Line const& line, std::uint64_t const* word) {
    cpu.store_line(kind, to, line);
    cpu.store_fence();
    cpu.read_back(word);
};

// Stores many consecutive lines, faster than one by one. Not every stand-in has it.
template <class Cpu>
concept CpuBulkStores = requires(Cpu const& cpu, StoreKind kind, Line* to, void const* payloads,
                                 std::size_t count, Tag first) {
    cpu.store_payloads(kind, to, payloads, count, first);
};

class X86 {
   public:
    // The CPU must support the kind. The line is passed in registers: if it was just assembled in
    // memory and loaded as a whole, the load would wait until its pieces have left the store
    // buffer, and these wait for the store fence before them.
    static void store_line(StoreKind kind, Line* to, Line const& line) {
        auto const* const quads = reinterpret_cast<__m128i const*>(&line);
        store_quads(kind, to, _mm_load_si128(quads), _mm_load_si128(quads + 1),
                    _mm_load_si128(quads + 2), _mm_load_si128(quads + 3));
    }
    // Stores `count` consecutive lines: payload i lies at payloads + 48 i and gets the tag first +
    // i.
    static void store_payloads(StoreKind kind, Line* to, void const* payloads, std::size_t count,
                               Tag first);

    // Prefetches the code of store_line().
    static void prefetch_stores(StoreKind kind);

    // Ordinary stores and loads: x86 keeps the order of stores to cached memory, and of loads.
    static void store_word(std::uint64_t* to, std::uint64_t value) { cpu::store_word(to, value); }
    // X1, for a word.
    [[nodiscard]] static std::uint64_t load_word(std::uint64_t const* from) {
        return cpu::load_word(from);
    }

    // X5, pairs with itself: a thread that sees a claim sees the stores before it.
    // Read-modify-writes of words that only CPU threads touch; both return the previous word. A
    // locked instruction drains the write-combining buffers, like a store fence.
    [[nodiscard]] static std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend) {
        return cpu::StdWords::fetch_add(to, addend, std::memory_order_acq_rel);
    }
    [[nodiscard]] static std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                        std::uint64_t desired) {
        return cpu::StdWords::compare_exchange(to, expected, desired, std::memory_order_acq_rel);
    }

    // X1, pairs with G2: an acquire, as is every load of x86; the asm clobber holds for the
    // compiler. An aligned 16-byte vector load is a single access on every CPU with AVX, which
    // Device::open requires (docs/dev/guarantees.md). It is assembly, not an intrinsic: GCC
    // replaces a vector load of which only parts are used by scalar loads of the parts, and a quad
    // that arrives between two of them is torn.
    [[nodiscard]] static Quad load_quad(Quad const* from) {
#if CARILLON_THREAD_SANITIZER
        return cpu::load_quad(from);  // loads in terms that the sanitizer understands
#else
        __m128i loaded;
        asm volatile("movdqa %1, %0" : "=x"(loaded) : "m"(*from) : "memory");
        Quad quad;
        _mm_store_si128(reinterpret_cast<__m128i*>(&quad), loaded);
        return quad;
#endif
    }

    // One access, after every earlier store to cached memory. It is assembly, so that GCC does not
    // store a quad from two registers in halves.
    static void store_quad(Quad* to, Quad const& quad) {
#if CARILLON_THREAD_SANITIZER
        cpu::store_quad(to, quad);
#else
        __m128i const stored =
            _mm_set_epi64x(static_cast<long long>(quad.high), static_cast<long long>(quad.low));
        asm volatile("movdqa %1, %0" : "=m"(*to) : "x"(stored) : "memory");
#endif
    }

    // X3, pairs with G1: otherwise a line may stay in the CPU, or overtake the data that it names.
    // Earlier stores of this thread, also streaming ones, come before later ones; its
    // write-combining buffers drain.
    static void store_fence() {
        std::atomic_thread_fence(std::memory_order_release);
        _mm_sfence();
    }

    // X4, pairs with G1: otherwise a line could overtake data on a device that keeps no order. A
    // load across the bus: later stores of this thread leave after it is complete, and by then the
    // thread's earlier writes to that device have arrived, since on PCI Express a read does not
    // overtake writes.
    static void read_back(std::uint64_t const* from) { (void)cpu::load_word(from); }

   private:
    static void store_quads(StoreKind kind, Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                            __m128i quad3);
};

}  // namespace carillon::detail
