// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace carillon::test {

// Bytes that look like any, the same ones for the same seed.
[[nodiscard]] inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    for (std::byte& each : bytes) {
        seed = seed * 1664525U + 1013904223U;
        each = static_cast<std::byte>(seed >> 24);
    }
    return bytes;
}

}  // namespace carillon::test
