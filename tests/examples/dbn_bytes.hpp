// SPDX-License-Identifier: Apache-2.0
// Builds small .dbn files, byte by byte and not with the reader's own layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#if defined(DBN_ZSTD)
#include <zstd.h>
#endif

#include "examples/replay/tally.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::example {

inline constexpr std::size_t header_size = 108;  // of DbnBytes' default
inline constexpr std::size_t record_size = 56;

class DbnBytes {
   public:
    // Appends a file's header: magic, version, a length, and so many bytes.
    DbnBytes& header(unsigned version = 1, std::uint32_t length = header_size - 8) {
        bytes_ += "DBN";
        number(version, 1).number(length, 4);
        bytes_.append(length, '\0');
        return *this;
    }

    DbnBytes& record(MboRecord const& r, unsigned type = 0xa0, std::size_t size = record_size) {
        number(size / 4, 1).number(type, 1).number(r.publisher, 2).number(r.instrument, 4);
        number(r.ts_event, 8).number(r.order_id, 8).number(static_cast<std::uint64_t>(r.price), 8);
        number(r.size, 4).number(r.flags, 1).number(r.channel, 1);
        number(static_cast<unsigned char>(r.action), 1);
        number(static_cast<unsigned char>(r.side), 1);
        number(r.ts_recv, 8).number(static_cast<std::uint32_t>(r.ts_in_delta), 4);
        return number(r.sequence, 4);
    }

    // A record of another type, of zeros.
    DbnBytes& other(unsigned type, std::size_t size) {
        number(size / 4, 1).number(type, 1);
        bytes_.append(size < 2 ? 0 : size - 2, '\0');
        return *this;
    }

    DbnBytes& raw(std::string_view bytes) {
        bytes_ += bytes;
        return *this;
    }

    // Little endian.
    DbnBytes& number(std::uint64_t value, std::size_t width) {
        for (std::size_t i = 0; i < width; ++i) {
            bytes_ += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
        }
        return *this;
    }

#if defined(DBN_ZSTD)
    // The bytes compressed, the first so many of them in a frame of their own.
    [[nodiscard]] DbnBytes compressed(std::size_t first) const {
        DbnBytes result;
        for (std::string const& part : {bytes_.substr(0, first), bytes_.substr(first)}) {
            std::string frame(ZSTD_compressBound(part.size()), '\0');
            frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 3));
            result.raw(frame);
        }
        return result;
    }
#endif

    [[nodiscard]] std::string const& bytes() const { return bytes_; }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    DbnBytes& cut_to(std::size_t size) {
        bytes_.resize(size);
        return *this;
    }

    [[nodiscard]] std::filesystem::path write_to(test::TemporaryDirectory const& directory) const {
        auto const path = directory.path() / "feed.dbn";
        std::ofstream(path, std::ios::binary) << bytes_;
        return path;
    }

   private:
    std::string bytes_;
};

// Different for every `i` in every field but length and type, and every kind of action but `none`
// in turn.
[[nodiscard]] inline MboRecord sample_record(std::uint32_t i) {
    constexpr Action actions[] = {Action::add,   Action::cancel, Action::modify,
                                  Action::trade, Action::fill,   Action::clear};
    return {.length = record_size / 4,
            .type = 0xa0,
            .publisher = static_cast<std::uint16_t>(1 + i),
            .instrument = 17'077 + i,
            .ts_event = 1'703'422'805'243'925'307U + i,
            .order_id = 6'412'777'162'812U - i,
            .price = i % 2 == 0 ? 4'799'000'000'000 + i : -250'000'000 - std::int64_t{i},
            .size = i + 1,
            .flags = static_cast<std::uint8_t>(0x80 + i),
            .channel = static_cast<std::uint8_t>(i),
            .action = actions[i % 6],
            .side = "ABN"[i % 3],
            .ts_recv = 1'703'462'400'000'000'000U + i,
            .ts_in_delta = 3 - static_cast<std::int32_t>(i),
            .sequence = 0xffff'fff0U + i};
}

}  // namespace carillon::example
