// SPDX-License-Identifier: Apache-2.0
// Functions whose assembly x86_test.py checks, beside that of src/cpu/x86.cpp.
#include <carillon/detail/protocol/endpoints.hpp>

using carillon::detail::HostCached;
using carillon::detail::HostMapped;
using carillon::detail::Line;
using carillon::detail::X86;

extern "C" {

// Only parts of the line are used, but the loads must stay whole.
std::uint64_t poll_line(Line const* slot, carillon::detail::Tag tag) {
    Line const line = HostCached().load_line(slot);
    return has_arrived(line, tag) ? line.quads[2].low : 0;
}

void store_fence() { X86::store_fence(); }

void release(HostMapped const& far) { far.release(); }
}
