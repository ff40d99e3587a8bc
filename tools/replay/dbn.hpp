// SPDX-License-Identifier: Apache-2.0
// Reads an exchange's order-by-order feed: a DBN version 1 file of MBO records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "kernels/replay.hpp"

namespace carillon::tool {

class DbnFile {
   public:
    // Throws FormatError, which says what is wrong at which byte, and SystemError. Takes no more
    // memory than the records that the file holds, whatever its header says.
    [[nodiscard]] static DbnFile read(std::filesystem::path const& path);

    // At least one.
    [[nodiscard]] std::span<MboRecord const> records() const { return records_; }

   private:
    explicit DbnFile(std::vector<MboRecord> records) : records_(std::move(records)) {}

    std::vector<MboRecord> records_;
};

}  // namespace carillon::tool
