// SPDX-License-Identifier: Apache-2.0
// Reads recorded market data: the market-by-order records of a DBN file.
// Format: versions 1 to 3 of Databento Binary Encoding, zstd-compressed or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "examples/dbn/mbo.hpp"

namespace dbn {

// The number of records that were skipped, by their type (DBN's rtype).
using Skipped = std::map<std::uint8_t, std::uint64_t>;

class MboFile {
   public:
    // Reads `path`, or standard input if it is "-". Records of other types are skipped and counted.
    // A ts_out behind each record is skipped. Throws carillon::FormatError, which says what is
    // wrong at which byte of the decompressed data, carillon::SystemError, and
    // carillon::UnsupportedError for compressed data in a build without libzstd. The memory that it
    // takes is bounded by the records in the file, whatever the file's header says.
    [[nodiscard]] static MboFile read(std::filesystem::path const& path);

    // The records in the file's order; at least one.
    [[nodiscard]] std::span<MboRecord const> records() const { return records_; }
    [[nodiscard]] Skipped const& skipped() const { return skipped_; }

   private:
    MboFile(std::vector<MboRecord> records, Skipped skipped)
        : records_(std::move(records)), skipped_(std::move(skipped)) {}

    std::vector<MboRecord> records_;
    Skipped skipped_;
};

}  // namespace dbn
