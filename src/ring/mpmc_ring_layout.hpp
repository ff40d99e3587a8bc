// SPDX-License-Identifier: Apache-2.0
// The layout of an MPMC ring, as offsets into the memory of either side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

namespace carillon::detail {

// Hands out pieces of a block of memory one after the other.
class Pieces {
   public:
    explicit Pieces(std::size_t unit) : unit_(unit) {}

    std::size_t take(std::size_t size) {
        std::size_t const offset = size_;
        size_ += (size + unit_ - 1) / unit_ * unit_;
        return offset;
    }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    std::size_t unit_;
    std::size_t size_ = 0;
};

// Data that host and device write are apart: by two lines, which CPUs fetch in pairs, and by whole
// atoms, so that the host flushes no atom that the device writes to.
struct MpmcRingLayout {
    MpmcRingLayout(std::size_t capacity, std::size_t slot_lines, std::size_t stripe,
                   std::size_t producers, std::size_t atom)
        : of_consumers(unit(atom)),
          of_producers(unit(atom)),
          slots(of_consumers.take(capacity * slot_lines * sizeof(Line))),
          given_up(of_consumers.take(capacity * sizeof(std::uint64_t))),
          taken(of_consumers.take(sizeof(std::uint64_t))),
          left(of_consumers.take(MpmcRingView::left_words(static_cast<std::uint32_t>(capacity),
                                                          static_cast<std::uint32_t>(stripe)) *
                                 sizeof(std::uint64_t))),
          claimed(of_producers.take(sizeof(std::uint64_t))),
          credits(of_producers.take(capacity / stripe * sizeof(std::uint64_t))),
          records(of_producers.take(producers * sizeof(ProducerRecord))) {}

    [[nodiscard]] static std::size_t unit(std::size_t atom) {
        constexpr std::size_t cache_line_pair = 128;
        return std::max(cache_line_pair, atom);
    }

    Pieces of_consumers;
    Pieces of_producers;
    std::size_t slots;  // these four are in the consumers' memory
    std::size_t given_up;
    std::size_t taken;
    std::size_t left;
    std::size_t claimed;  // these three are in the producers'
    std::size_t credits;
    std::size_t records;
};

}  // namespace carillon::detail
