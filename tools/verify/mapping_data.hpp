// SPDX-License-Identifier: Apache-2.0
// `carillon verify --data`: whether the device has the bytes that the CPU writes through its
// mapping of device memory, and the other way round; gdrcopy's sanity does this too.
#pragma once

#include <carillon/copy.hpp>
#include <carillon/device.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/driver_copies.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

struct WrongByte {
    std::size_t offset = 0;  // of the copy, in the memory
    std::size_t bytes = 0;   // of the copy
    std::size_t at = 0;      // in the memory
    unsigned expected = 0;
    unsigned seen = 0;
};

// Many copies of one shape, by one way of storing or loading.
struct DataCheck {
    std::string direction;  // "cpu-to-device" or "device-to-cpu"
    std::string by;         // how the CPU stores; "loads" for the other direction
    std::string shape;      // "words", "lines", "unaligned", "megabyte"
    std::uint64_t copies = 0;
    std::uint64_t failed = 0;  // of the copies
    std::optional<WrongByte> first{};
};

// Every shape by every kind of store that this CPU has, and by its loads. The bytes around each
// copy have another pattern and must not change. Throws what the library throws, and
// UnsupportedError if this build has no driver to copy with.
[[nodiscard]] std::vector<DataCheck> check_mapping_data(Device const& device,
                                                        Progress const& progress);
// Checks with the copies that the caller gives.
[[nodiscard]] std::vector<DataCheck> check_mapping_data(Device const& device, DriverCopies& driver,
                                                        Progress const& progress);

[[nodiscard]] nlohmann::json to_json(DataCheck const& check);
// A table for people, one line per check.
[[nodiscard]] std::string data_table(std::vector<DataCheck> const& checks);
// Throws Error if one failed.
void require_no_failure(std::vector<DataCheck> const& checks);

}  // namespace carillon::tool
