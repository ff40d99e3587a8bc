// SPDX-License-Identifier: Apache-2.0
// Memory whose accesses Relacy schedules and orders. The protocol gets the addresses of ordinary
// lines and words. They only say where an access goes: the content is in Relacy's atomics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>

#include "carillon/detail/wire/line.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::detail {

// Relacy prints an atomic's content.
inline std::ostream& operator<<(std::ostream& out, Quad const& quad) {
    return out << quad.low << ':' << quad.high;
}

}  // namespace carillon::detail

namespace carillon::test {
using namespace detail;

using Word = std::uint64_t;

// The quads of a line that have an atomic of their own: bit i for quad i. Any other travels with
// the one that the same thread accessed before it, which is right where all quads of a message are
// equal. The device's policies handle quads 0, 1 and 2 alike, so quads 0 and 3 can stand for all;
// the emulated device handles all alike. So a search becomes small enough to be exhaustive.
using Quads = unsigned;
inline constexpr Quads all_quads = 0b1111;
inline constexpr Quads first_and_last_quad = 0b1001;
inline constexpr Quads first_quad = 0b0001;
inline constexpr Quads last_quad = 0b1000;  // of which a load is the acquire

// On hardware a quad is one access; on the emulated device it is two, one for each half.
enum class QuadIs { one_access, two_accesses };

struct Addresses {
    static constexpr std::size_t max_lines = 8;
    Line lines[max_lines]{};
    alignas(256) Word words[64]{};
};

class ModelMemory {
   public:
    ModelMemory(QuadIs quad_is, Quads quads) : quad_is_(quad_is), quads_(quads) { addresses_ = {}; }

    [[nodiscard]] Line* lines() { return addresses_.lines; }
    [[nodiscard]] Word* words() { return addresses_.words; }

    // Makes the atomics of the first so many lines and words, with the content at their addresses.
    // Must be called before the threads run.
    void begin(std::size_t lines, std::size_t words) {
        for (std::size_t i = 0; i < lines; ++i) {
            for (Quad& quad : addresses_.lines[i].quads) create(quad);
        }
        for (std::size_t i = 0; i < words; ++i) create(addresses_.words[i]);
    }

    // Makes the atomic of one word.
    void begin(Word& word) { create(word); }

    [[nodiscard]] bool has(Quad const* quad) const {
        return (quads_ >> (offset(quad) / sizeof(Quad) % quads_per_line) & 1U) != 0;
    }
    [[nodiscard]] rl::atomic<Quad>& at(Quad const* quad) {
        return *quad_cells_.at(offset(quad) / sizeof(Quad));
    }
    [[nodiscard]] rl::atomic<Word>& at(Word const* word) {
        return *word_cells_.at(offset(word) / sizeof(Word));
    }
    // The quad that the running thread loaded last.
    [[nodiscard]] Quad& loaded() { return loaded_.at(rl::thread_index()); }

   private:
    [[nodiscard]] std::size_t offset(void const* address) const {
        return static_cast<std::size_t>(static_cast<std::byte const*>(address) -
                                        reinterpret_cast<std::byte const*>(&addresses_));
    }
    void create(Quad& quad) {
        if (!has(&quad)) return;
        if (quad_is_ == QuadIs::one_access) {
            quad_cells_.at(offset(&quad) / sizeof(Quad)).emplace(quad);
        } else {
            create(quad.low);
            create(quad.high);
        }
    }
    void create(Word& word) { word_cells_.at(offset(&word) / sizeof(Word)).emplace(word); }

    // Not a member: Relacy aligns a model to 16 bytes only, and runs one at a time.
    inline static Addresses addresses_;

    QuadIs quad_is_;
    Quads quads_;
    std::array<Quad, 3> loaded_{};  // by thread
    std::array<std::optional<rl::atomic<Quad>>, Addresses::max_lines * quads_per_line> quad_cells_;
    std::array<std::optional<rl::atomic<Word>>, sizeof(Addresses) / sizeof(Word)> word_cells_;
};

}  // namespace carillon::test
