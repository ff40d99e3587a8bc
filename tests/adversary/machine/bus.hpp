// SPDX-License-Identifier: Apache-2.0
// The properties of the machine's bus. The seed decides everything that may differ from one moment
// to the next.
#pragma once

#include <cstdint>

namespace carillon::test {

// How what the CPU writes crosses the bus: as quads, or in pieces of 8 bytes.
enum class Pieces : std::uint8_t { quads, words };

struct Bus {
    Pieces pieces = Pieces::quads;
    // How device memory is mapped into the CPU: write-combining, or cached.
    bool write_combining = true;
    // Bytes that are flushed and invalidated together; 0 where memory is coherent.
    std::uint32_t atom = 0;
    // Whether what the CPU writes after a store fence arrives after what it wrote before.
    bool fences_order = true;

    [[nodiscard]] bool coherent() const { return atom == 0; }
};

}  // namespace carillon::test
