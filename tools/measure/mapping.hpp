// SPDX-License-Identifier: Apache-2.0
// Measures how the CPU maps device memory, by the cost of its loads and stores.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <string_view>

namespace carillon::tool {

enum class Mapping : std::uint8_t { write_combining, uncached, cached };

[[nodiscard]] std::string_view to_string(Mapping mapping);

struct MappingReport {
    double load_ns = 0;         // of 8 bytes
    double one_line_ns = 0;     // eight 8-byte stores to one line, and a fence
    double eight_lines_ns = 0;  // to eight lines, and a fence
    bool lingered = false;      // a flag without a fence did

    [[nodiscard]] Mapping conclusion() const;
};

// All but `lingered`.
[[nodiscard]] MappingReport measure_mapping(Device const& device);

}  // namespace carillon::tool
