// SPDX-License-Identifier: Apache-2.0
// The bytes of a file or of standard input, front to back, decompressed if zstd compressed them.
#pragma once

#include <carillon/memory.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dbn {

// Whether data that begin with these four bytes, little endian, are compressed by zstd.
[[nodiscard]] bool is_of_zstd(std::uint32_t begin);

class Input {
   public:
    // Opens `path`, or standard input if it is "-". Throws carillon::SystemError, and
    // carillon::UnsupportedError for compressed data in a build without libzstd.
    explicit Input(std::filesystem::path const& path);
    Input(Input const&) = delete;
    Input& operator=(Input const&) = delete;
    ~Input();

    // Reads until `bytes` are full or the data end; returns the number of bytes read. Throws
    // carillon::SystemError, carillon::FormatError.
    [[nodiscard]] std::size_t fill(std::span<std::byte> bytes);
    // The number of bytes read so far, decompressed.
    [[nodiscard]] std::uint64_t offset() const { return offset_; }
    [[nodiscard]] bool compressed() const { return zstd_ != nullptr; }
    // The input's name for errors: "read PATH".
    [[nodiscard]] std::string const& call() const { return call_; }

   private:
    struct Zstd;

    // The next bytes of the file itself: at least one, or the file has ended.
    [[nodiscard]] std::size_t read_some(std::span<std::byte> bytes);
    [[nodiscard]] std::size_t read_all(std::span<std::byte> bytes);

    std::string call_;
    carillon::FileDescriptor file_;
    std::vector<std::byte> begin_;  // read to recognise zstd, and not yet given out
    std::unique_ptr<Zstd> zstd_;    // if the data are compressed
    std::uint64_t offset_ = 0;
};

}  // namespace dbn
