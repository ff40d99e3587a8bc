// SPDX-License-Identifier: Apache-2.0
// HostCached: the CPU on memory of its own side, which is cached: replies and credits.
#pragma once

#include <emmintrin.h>

#include <cstdint>

#include "carillon/access/cpu_atomics.hpp"
#include "carillon/access/range_sync.hpp"
#include "carillon/core/line.hpp"

namespace carillon {

class HostCached {
   public:
    explicit HostCached(RangeSync const* sync = nullptr) : sync_(sync) {}

    [[nodiscard]] Line load_line(Line const* from) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(Line));
#if CARILLON_THREAD_SANITIZER
        return cpu::load_line(from);  // the same, in terms that the sanitizer understands
#else
        // Aligned 16-byte vector loads are single accesses on every CPU with AVX, which
        // Device::open requires (docs/guarantees.md); loads are acquires on x86. Assembly and not
        // an intrinsic: GCC replaces a vector load of which only parts are used by scalar loads
        // of the parts, and a quad that arrives between two of them is torn.
        Line line;
        for (std::size_t i = 0; i < quads_per_line; ++i) {
            __m128i quad;
            asm volatile("movdqa %1, %0" : "=x"(quad) : "m"(from->quads[i]) : "memory");
            _mm_store_si128(reinterpret_cast<__m128i*>(&line.quads[i]), quad);
        }
        return line;
#endif
    }

    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(*from));
        return cpu::load_word(from);
    }

   private:
    RangeSync const* sync_;
};

}  // namespace carillon
