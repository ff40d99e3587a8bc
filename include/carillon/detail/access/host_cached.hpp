// SPDX-License-Identifier: Apache-2.0
// HostCached: the CPU on its own, cached memory, where replies and credits arrive.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/access/range_sync.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// Claims, and the states told beside them, are among CPU threads, and the machine's own.
template <CpuLoads Cpu>
class BasicHostCached : public Cpu {
   public:
    explicit BasicHostCached(RangeSync const* sync = nullptr, Cpu cpu = {})
        : Cpu(cpu), sync_(sync) {}

    // H5, pairs with D2: the loads are acquires, so data that a line names are loaded after its
    // tags.
    // N1, pairs with D2: on non-coherent memory an invalidate precedes every look; otherwise the
    // CPU would see old content for ever.
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(Line));
        Line line{};
        detail::each_quad(quads,
                          [&](std::size_t i) { line.quads[i] = Cpu::load_quad(&from->quads[i]); });
        return line;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        return load_line(from, quads);
    }

    // H5 and N1, for a word.
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(*from));
        return Cpu::load_word(from);
    }

   private:
    RangeSync const* sync_;
};

using HostCached = BasicHostCached<X86>;
template <>
inline constexpr std::uint32_t looks_within_a_trip<HostCached> = 1024;

}  // namespace carillon::detail
