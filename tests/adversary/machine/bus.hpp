// SPDX-License-Identifier: Apache-2.0
// The properties of the machine's bus. The seed decides everything that may differ from one moment
// to the next.
#pragma once

#include <cstdint>

namespace carillon::test {

// The pieces in which the CPU's writes cross the bus: quads, or 8 bytes.
enum class Pieces : std::uint8_t { quads, words };

struct Bus {
    Pieces pieces = Pieces::quads;
    // How device memory is mapped into the CPU: write-combining, or cached.
    bool write_combining = true;
    // Bytes that are flushed and invalidated together; 0 where memory is coherent.
    std::uint32_t atom = 0;
    // Whether the CPU's writes after a store fence arrive after those before it.
    bool fences_order = true;

    [[nodiscard]] bool coherent() const { return atom == 0; }
};

}  // namespace carillon::test
