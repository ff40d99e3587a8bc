// SPDX-License-Identifier: Apache-2.0
// The CPU's write-combining buffers: stores collect in them until something drives them out.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "adversary/machine/cells.hpp"
#include "testing/random.hpp"

namespace carillon::test {

using detail::Random;

// Words of one line; only those in the mask are there.
struct PartialLine {
    std::uint32_t line;
    std::uint32_t mask = 0;
    std::array<std::uint64_t, cells_per_line> word{};
};

class WriteCombining {
   public:
    void reset() {
        for (PartialLine& buffer : buffers_) buffer.mask = 0;
    }

    // Words within one line. `leave(PartialLine const&)` gets the buffer that must make room.
    template <class Leave>
    void store(Cell first, std::span<std::uint64_t const> words, Random& random, Leave&& leave) {
        PartialLine& buffer = buffer_for(first / cells_per_line, random, leave);
        std::uint32_t at = first % cells_per_line;
        for (std::uint64_t const word : words) {
            buffer.word[at] = word;
            buffer.mask |= 1U << at++;
        }
    }

    // Whichever is chosen; nothing happens if it is free.
    template <class Leave>
    void evict_one(Random& random, Leave&& leave) {
        drain(buffers_[random.below(count)], leave);
    }

    template <class Leave>
    void evict_line(std::uint32_t line, Leave&& leave) {
        for (PartialLine& buffer : buffers_) {
            if (buffer.line == line) drain(buffer, leave);
        }
    }

    // All, in random order.
    template <class Leave>
    void evict_all(Random& random, Leave&& leave) {
        std::uint32_t const start = random.below(count);
        for (std::uint32_t i = 0; i != count; ++i) drain(buffers_[(start + i) % count], leave);
    }

   private:
    static constexpr std::uint32_t count = 4;

    template <class Leave>
    PartialLine& buffer_for(std::uint32_t line, Random& random, Leave& leave) {
        PartialLine* free = nullptr;
        for (PartialLine& buffer : buffers_) {
            if (buffer.mask == 0) {
                free = &buffer;
            } else if (buffer.line == line) {
                return buffer;
            }
        }
        if (free == nullptr) {
            free = &buffers_[random.below(count)];
            drain(*free, leave);
        }
        free->line = line;
        return *free;
    }

    template <class Leave>
    static void drain(PartialLine& buffer, Leave& leave) {
        if (buffer.mask == 0) return;
        leave(static_cast<PartialLine const&>(buffer));
        buffer.mask = 0;
    }

    std::array<PartialLine, count> buffers_{};
};

}  // namespace carillon::test
