// SPDX-License-Identifier: Apache-2.0
// HostCoherent: a CPU thread on memory that it shares with another CPU thread, cached and coherent.
// Near and far in one: a store is seen by the other side as soon as it leaves the store buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

template <class Cpu>
requires CpuLoads<Cpu> && CpuCoherentStores<Cpu>
class BasicHostCoherent {
   public:
    explicit BasicHostCoherent(Cpu cpu = {}) : cpu_(cpu) {}

    // H5, pairs with H4: the loads are acquires, of a word too.
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        Line line{};
        detail::each_quad(quads,
                          [&](std::size_t i) { line.quads[i] = cpu_.load_quad(&from->quads[i]); });
        return line;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        return load_line(from, quads);
    }

    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        return cpu_.load_word(from);
    }

    void store_line(Line* to, Line const& line, Tag /*previous*/,
                    std::size_t quads = quads_per_line) const {
        detail::each_quad(quads,
                          [&](std::size_t i) { cpu_.store_quad(&to->quads[i], line.quads[i]); });
    }

    template <std::size_t count>
    void store_lines(Line* to, Lines<count> const& lines, std::size_t quads, Tag previous) const {
        store_lines_by_line(*this, to, lines.line, quads, previous);
    }

    // `count` lines in a row: line i has the 48 bytes at payloads + 48 * i and the tag first + i.
    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        store_payloads_by_line(*this, to, payloads, count, first, previous);
    }

    void store_word(std::uint64_t* to, std::uint64_t value) const { cpu_.store_word(to, value); }

    // Stores to cached memory leave by themselves.
    void commit(void const* /*where*/, std::size_t /*size*/) const {}

    // H4, pairs with H5: earlier writes come before the tags of the next line; without it the
    // compiler could put them behind. Streaming stores, which a caller may have made, are not among
    // them: they need a fence of his own.
    void release() const { cpu_.order_stores(); }

   private:
    Cpu cpu_;
};

using HostCoherent = BasicHostCoherent<X86>;
template <>
inline constexpr std::uint32_t looks_within_a_trip<HostCoherent> = 1024;

}  // namespace carillon::detail
