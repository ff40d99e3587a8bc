// SPDX-License-Identifier: Apache-2.0
// The quad as C++ atomics, for CPU threads that stand in for a device and for a CPU that exchanges
// messages with them. A quad is two 8-byte words. The one with the tag is written last and read
// first, so a tag that was seen vouches for the other word.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail::cpu {

// Word atomics of the C++ memory model; the model checker substitutes its own.
struct StdWords {
    static std::uint64_t load(std::uint64_t const* from, std::memory_order order) {
        return std::atomic_ref(const_cast<std::uint64_t&>(*from)).load(order);
    }
    static void store(std::uint64_t* to, std::uint64_t value, std::memory_order order) {
        std::atomic_ref(*to).store(value, order);
    }
    // Both return the previous word.
    static std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend,
                                   std::memory_order order) {
        return std::atomic_ref(*to).fetch_add(addend, order);
    }
    static std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                          std::uint64_t desired, std::memory_order order) {
        // Relaxed on failure: a thread that finds another's word looks again.
        std::atomic_ref(*to).compare_exchange_strong(expected, desired, order,
                                                     std::memory_order_relaxed);
        return expected;
    }
};

template <class W>
concept WordAtomics = requires(W const& words, std::uint64_t const* from, std::uint64_t* to,
                               std::uint64_t value, std::memory_order order) {
    { words.load(from, order) } -> std::same_as<std::uint64_t>;
    words.store(to, value, order);
};

// E1, pairs with E2: the tag is loaded first, by an acquire; otherwise the payload could be older
// than a new tag.
template <WordAtomics Words = StdWords>
Quad load_quad(Quad const* from, Words const& words = {}) {
    Quad quad;
    quad.high = words.load(&from->high, std::memory_order_acquire);
    quad.low = words.load(&from->low, std::memory_order_relaxed);
    return quad;
}

// E2, pairs with E1: the tag is stored last, by a release; otherwise it could be seen ahead of its
// payload.
template <WordAtomics Words = StdWords>
void store_quad(Quad* to, Quad const& quad, Words const& words = {}) {
    words.store(&to->low, quad.low, std::memory_order_relaxed);
    words.store(&to->high, quad.high, std::memory_order_release);
}

// E3, pairs with E4: otherwise data that a flag or a credit vouches for could be loaded ahead.
inline std::uint64_t load_word(std::uint64_t const* from) {
    return StdWords::load(from, std::memory_order_acquire);
}

// E4, pairs with E3: otherwise a flag or a credit could be seen ahead of earlier stores.
inline void store_word(std::uint64_t* to, std::uint64_t value) {
    StdWords::store(to, value, std::memory_order_release);
}

}  // namespace carillon::detail::cpu
