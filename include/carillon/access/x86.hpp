// SPDX-License-Identifier: Apache-2.0
// The accesses and fences of an x86 CPU that the host's policies are made of. The policies take
// this class as a parameter: the tests put a simulated bus or a model checker in its place.
#pragma once

#include <emmintrin.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "carillon/access/cpu_atomics.hpp"
#include "carillon/core/config.hpp"
#include "carillon/core/line.hpp"

namespace carillon {

// The instruction that stores a line.
enum class StoreKind : std::uint8_t {
    cached,     // two 8-byte atomics a quad: cached memory, that is the emulated device
    sse2,       // four 16-byte streaming stores
    avx2,       // two 32-byte streaming stores
    avx512,     // one 64-byte streaming store
    movdir64b,  // one 64-byte direct store, which the CPU documents as a single write
};

[[nodiscard]] std::string_view to_string(StoreKind kind);

// Whether this CPU has the instruction.
[[nodiscard]] bool supported(StoreKind kind);

class X86 {
   public:
    // The CPU must support the kind.
    static void store_line(StoreKind kind, Line* to, Line const& line);

    // Ordinary stores and loads: x86 keeps the order of stores to cached memory, and of loads.
    static void store_word(std::uint64_t* to, std::uint64_t value) { cpu::store_word(to, value); }
    [[nodiscard]] static std::uint64_t load_word(std::uint64_t const* from) {
        return cpu::load_word(from);
    }

    // An aligned 16-byte vector load is a single access on every CPU with AVX, which Device::open
    // requires (docs/guarantees.md). Assembly and not an intrinsic: GCC replaces a vector load of
    // which only parts are used by scalar loads of the parts, and a quad that arrives between two
    // of them is torn.
    [[nodiscard]] static Quad load_quad(Quad const* from) {
#if CARILLON_THREAD_SANITIZER
        return cpu::load_quad(from);  // the same, in terms that the sanitizer understands
#else
        __m128i loaded;
        asm volatile("movdqa %1, %0" : "=x"(loaded) : "m"(*from) : "memory");
        Quad quad;
        _mm_store_si128(reinterpret_cast<__m128i*>(&quad), loaded);
        return quad;
#endif
    }

    // Earlier stores of this thread, streaming ones included, come before later ones; what is in
    // its write-combining buffers leaves.
    static void store_fence() {
        std::atomic_thread_fence(std::memory_order_release);
        _mm_sfence();
    }

    // A load across the bus. Later stores of this thread leave after it is complete, and by then
    // what the thread wrote to that device before has arrived there: on PCI Express a read does
    // not overtake writes.
    static void read_back(std::uint64_t const* from) { (void)cpu::load_word(from); }
};

}  // namespace carillon
