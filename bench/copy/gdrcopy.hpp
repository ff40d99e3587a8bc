// SPDX-License-Identifier: Apache-2.0
// `carillon-bench copy --gdrcopy`: the figures of gdrcopy's copylat and copybw, for Carillon's
// copies. libcarillon_gdrapi makes these copies too.
#pragma once

#include <carillon/device.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/progress.hpp"

namespace carillon::tool {

struct GdrcopyRow {
    std::string name;  // as there: "gdr_copy_to_mapping", "gdr_copy_from_mapping"
    std::size_t bytes = 0;
    std::uint64_t iterations = 0;
    double average_us = 0;
    double mb_per_s = 0;  // of 2^20 bytes, as there
};

// Copies of 1 byte, 2, 4 and so on up to `largest`, first all writes and then all reads. gdrcopy's
// counts, 10000 writes and 100 reads, apply, or less if that takes too long. Throws what the
// library throws.
[[nodiscard]] std::vector<GdrcopyRow> run_gdrcopy(Device const& device, std::size_t largest,
                                                  Progress const& progress);

[[nodiscard]] nlohmann::json to_json(GdrcopyRow const& row);
// In the columns of copylat, and the lines of copybw, of 128 KiB where they were copied.
[[nodiscard]] std::string gdrcopy_table(std::vector<GdrcopyRow> const& rows);

}  // namespace carillon::tool
