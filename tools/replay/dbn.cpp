// SPDX-License-Identifier: Apache-2.0
#include "replay/dbn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "carillon/error.hpp"
#include "carillon/memory.hpp"

namespace carillon::tool {
namespace {

static_assert(std::endian::native == std::endian::little, "DBN is little endian");

constexpr std::size_t prefix_size = 8;  // "DBN", version, length of the rest of the header
constexpr unsigned supported_version = 1;
constexpr std::size_t record_size = sizeof(MboRecord);
constexpr unsigned length_unit = 4;  // of a record's first byte
constexpr unsigned mbo_type = 0xa0;

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
            return true;
    }
    return false;
}

// Reads front to back, so that a pipe will do as well as a file.
class Parser {
   public:
    explicit Parser(std::filesystem::path const& path)
        : call_("read " + path.string()), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_.get() < 0) throw SystemError(call_, errno);
    }

    void skip_header() {
        std::array<std::byte, prefix_size> prefix{};
        std::size_t const got = fill(prefix);
        if (std::memcmp(prefix.data(), "DBN", 3) != 0) {
            fail("not a DBN file: no \"DBN\"", 0);
        }
        if (auto const version = value_at<std::uint8_t>(prefix.data(), 3);
            got > 3 && version != supported_version) {
            fail(fmt::format("DBN version {}, not {},", version, supported_version), 3);
        }
        if (got < prefix_size) fail("the header is truncated", offset_);
        skip(value_at<std::uint32_t>(prefix.data(), 4));
    }

    [[nodiscard]] std::vector<MboRecord> read_records() {
        std::vector<MboRecord> records;
        std::vector<std::byte> block(1024 * record_size);
        for (std::size_t got = block.size(); got == block.size();) {
            std::uint64_t const start = offset_;
            got = fill(block);
            for (std::size_t at = 0; at < got; at += record_size) {
                records.push_back(read_record(std::span(block).subspan(at, got - at), start + at));
            }
        }
        if (records.empty()) fail("no records: the file ends", offset_);
        return records;
    }

   private:
    [[noreturn]] void fail(std::string_view cause, std::uint64_t byte) const {
        throw FormatError(call_, fmt::format("{} at byte {}", cause, byte));
    }

    // Reads until `bytes` are full or the file ends; returns how many were read.
    [[nodiscard]] std::size_t fill(std::span<std::byte> bytes) {
        std::size_t got = 0;
        while (got < bytes.size()) {
            ssize_t const n = ::read(file_.get(), bytes.data() + got, bytes.size() - got);
            if (n == 0) break;
            if (n > 0) {
                got += static_cast<std::size_t>(n);
            } else if (errno != EINTR) {
                throw SystemError(call_, errno);
            }
        }
        offset_ += got;
        return got;
    }

    // The length is not to be trusted with an allocation.
    void skip(std::size_t length) {
        std::array<std::byte, 4096> ignored;
        std::size_t const size = prefix_size + length;
        while (offset_ < size) {
            auto const part =
                std::span(ignored).first(std::min<std::size_t>(ignored.size(), size - offset_));
            if (fill(part) < part.size()) {
                fail(fmt::format("the header is truncated: {} bytes long by its own account, "
                                 "it ends",
                                 size),
                     offset_);
            }
        }
    }

    // The record that `bytes`, which are at `offset` in the file, begin with.
    [[nodiscard]] MboRecord read_record(std::span<std::byte const> bytes,
                                        std::uint64_t offset) const {
        if (bytes.size() < record_size) {
            fail(fmt::format("truncated record ({} of {} bytes)", bytes.size(), record_size),
                 offset);
        }
        unsigned const length = length_unit * value_at<std::uint8_t>(bytes.data(), 0);
        unsigned const type = value_at<std::uint8_t>(bytes.data(), 1);
        if (length != record_size || type != mbo_type) {
            fail(fmt::format("a record of {} bytes and type {:#04x}, not {} and {:#04x},", length,
                             type, record_size, mbo_type),
                 offset);
        }
        auto const record = value_at<MboRecord>(bytes.data(), 0);
        if (!is_known(record.action)) {
            fail(fmt::format("unknown action {:#04x} in the record",
                             static_cast<unsigned char>(record.action)),
                 offset);
        }
        return record;
    }

    std::string call_;
    FileDescriptor file_;
    std::uint64_t offset_ = 0;
};

}  // namespace

DbnFile DbnFile::read(std::filesystem::path const& path) {
    Parser parser(path);
    parser.skip_header();
    return DbnFile(parser.read_records());
}

}  // namespace carillon::tool
