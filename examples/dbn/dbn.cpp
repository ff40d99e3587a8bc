// SPDX-License-Identifier: Apache-2.0
#include "examples/dbn/dbn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <carillon/error.hpp>
#include <cstddef>
#include <cstring>
#include <optional>

#include "examples/dbn/input.hpp"

namespace dbn {
namespace {

static_assert(std::endian::native == std::endian::little, "DBN is little endian");

constexpr std::size_t prefix_size = 8;  // "DBN", version, length of the rest of the header
constexpr unsigned newest_version = 3;  // 1 to 3 have the same market-by-order record
constexpr std::size_t unit = 4;         // of a record's first byte
constexpr std::size_t record_header_size = 16;
constexpr std::size_t longest_record = 255 * unit;
constexpr std::uint8_t mbo_type = 0xa0;
constexpr std::size_t ts_out_size = 8;

template <class T>
[[nodiscard]] T value_at(std::byte const* bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
}

[[nodiscard]] bool is_known(Action action) {
    switch (action) {
        case Action::add:
        case Action::cancel:
        case Action::modify:
        case Action::trade:
        case Action::fill:
        case Action::clear:
        case Action::none:
            return true;
    }
    return false;
}

// A record's bytes in the block that they were read into, and where they are in the file.
struct Found {
    std::span<std::byte const> bytes;
    std::uint64_t offset;

    [[nodiscard]] std::uint8_t type() const { return value_at<std::uint8_t>(bytes.data(), 1); }
};

class Parser {
   public:
    explicit Parser(std::filesystem::path const& path) : input_(path) {}

    void skip_header() {
        std::array<std::byte, prefix_size> prefix{};
        std::size_t const got = input_.fill(prefix);
        if (std::memcmp(prefix.data(), "DBN", 3) != 0) {
            fail("not a DBN file: no \"DBN\"", 0);
        }
        if (auto const version = value_at<std::uint8_t>(prefix.data(), 3);
            got > 3 && (version == 0 || version > newest_version)) {
            fail(fmt::format("DBN version {}, not 1 to {},", version, newest_version), 3);
        }
        if (got < prefix_size) fail("the header is truncated", input_.offset());
        skip(value_at<std::uint32_t>(prefix.data(), 4));
    }

    // The next record; none at the end. Its bytes stay valid until the next call.
    [[nodiscard]] std::optional<Found> next() {
        if (left() < longest_record) load_more();
        if (left() == 0) return {};
        require_no_other_file();
        std::size_t const size = unit * value_at<std::uint8_t>(block_.data(), begin_);
        if (size < record_header_size) {
            fail(fmt::format("a record of {} bytes, shorter than its header,", size), offset());
        }
        if (size > left()) {
            fail(fmt::format(
                     "truncated record ({} of {} bytes; {}head -c {} gives the records before it)",
                     left(), size, input_.compressed() ? "zstd -dc FILE | " : "", offset()),
                 offset());
        }
        Found const found{std::span<std::byte const>(block_).subspan(begin_, size), offset()};
        begin_ += size;
        return found;
    }

    [[nodiscard]] MboRecord mbo(Found const& found) const {
        std::size_t const size = found.bytes.size();
        if (size != sizeof(MboRecord) && size != sizeof(MboRecord) + ts_out_size) {
            fail(fmt::format("a market-by-order record of {} bytes, not {} or, with ts_out, {},",
                             size, sizeof(MboRecord), sizeof(MboRecord) + ts_out_size),
                 found.offset);
        }
        auto record = value_at<MboRecord>(found.bytes.data(), 0);
        record.length = sizeof(MboRecord) / unit;
        if (!is_known(record.action)) {
            fail(fmt::format("unknown action {:#04x} in the record",
                             static_cast<unsigned char>(record.action)),
                 found.offset);
        }
        return record;
    }

    [[noreturn]] void fail(std::string_view cause, std::uint64_t byte) const {
        throw carillon::FormatError(input_.call(), fmt::format("{} at byte {}", cause, byte));
    }
    [[nodiscard]] std::uint64_t offset() const { return input_.offset() - left(); }

   private:
    // The length is not to be trusted with an allocation.
    void skip(std::size_t length) {
        std::array<std::byte, 4096> ignored;
        std::size_t const size = prefix_size + length;
        while (input_.offset() < size) {
            auto const part = std::span(ignored).first(
                std::min<std::size_t>(ignored.size(), size - input_.offset()));
            if (input_.fill(part) < part.size()) {
                fail(fmt::format("the header is truncated: {} bytes long by its own account, "
                                 "it ends",
                                 size),
                     input_.offset());
            }
        }
    }

    // Files that were put behind one another: the beginning of the second is no record. No type of
    // record is the second byte of either.
    void require_no_other_file() const {
        if (left() < sizeof(std::uint32_t)) return;
        auto const* const begin = block_.data() + begin_;
        if (std::memcmp(begin, "DBN", 3) == 0 && value_at<std::uint8_t>(begin, 3) != 0) {
            fail("another DBN file begins", offset());
        }
        if (is_of_zstd(value_at<std::uint32_t>(begin, 0))) {
            fail("a zstd-compressed file begins", offset());
        }
    }

    [[nodiscard]] std::size_t left() const { return end_ - begin_; }
    // Moves the bytes that are left to the block's beginning and reads more behind them.
    void load_more() {
        std::copy(block_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  block_.begin() + static_cast<std::ptrdiff_t>(end_), block_.begin());
        end_ = left();
        begin_ = 0;
        end_ += input_.fill(std::span(block_).subspan(end_));
    }

    Input input_;
    std::vector<std::byte> block_ = std::vector<std::byte>(1024 * sizeof(MboRecord));
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

[[nodiscard]] std::string none_but(Skipped const& skipped) {
    std::uint64_t others = 0;
    for (auto const& [type, count] : skipped) others += count;
    return others == 0 ? "no records"
                       : fmt::format("no market-by-order record, {} of other types", others);
}

}  // namespace

MboFile MboFile::read(std::filesystem::path const& path) {
    Parser parser(path);
    parser.skip_header();
    std::vector<MboRecord> records;
    Skipped skipped;
    while (auto const found = parser.next()) {
        if (found->type() == mbo_type) {
            records.push_back(parser.mbo(*found));
        } else {
            ++skipped[found->type()];
        }
    }
    if (records.empty()) parser.fail(none_but(skipped) + ": the file ends", parser.offset());
    return {std::move(records), std::move(skipped)};
}

}  // namespace dbn
