// SPDX-License-Identifier: Apache-2.0
#include "examples/dbn/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <carillon/error.hpp>
#include <cerrno>

#if defined(DBN_ZSTD)
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace dbn {
namespace {

constexpr std::uint32_t frame_magic = 0xfd2fb528;
constexpr std::uint32_t skippable_magic = 0x184d2a50;  // to ...5f; pzstd's files begin so

carillon::FileDescriptor open(std::filesystem::path const& path, std::string const& call) {
    carillon::FileDescriptor file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw carillon::SystemError(call, errno);
    return file;
}

}  // namespace

bool is_of_zstd(std::uint32_t begin) {
    return begin == frame_magic || (begin & ~0xfU) == skippable_magic;
}

#if defined(DBN_ZSTD)

struct Input::Zstd {
    std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream{ZSTD_createDStream(),
                                                                      &ZSTD_freeDStream};
    std::vector<std::byte> compressed = std::vector<std::byte>(ZSTD_DStreamInSize());
    ZSTD_inBuffer in{compressed.data(), 0, 0};
    bool in_frame = false;  // more of it is to come

    // Decompresses until `bytes` are full or the file ends.
    std::size_t fill(std::span<std::byte> bytes, Input& file) {
        ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
        while (out.pos < out.size) {
            if (in.pos == in.size) {
                in = {compressed.data(), file.read_all(compressed), 0};
                if (in.size == 0) break;
            }
            std::size_t const left = ZSTD_decompressStream(stream.get(), &out, &in);
            if (ZSTD_isError(left) != 0) {
                throw carillon::FormatError(file.call(), why_not(left));
            }
            in_frame = left != 0;
        }
        if (out.pos < out.size && in_frame) {
            throw carillon::FormatError(
                file.call(), fmt::format("the zstd data are truncated: they end after {} bytes of "
                                         "decompressed data, within a frame",
                                         file.offset() + out.pos));
        }
        return out.pos;
    }

    [[nodiscard]] static std::string why_not(std::size_t error) {
        if (ZSTD_getErrorCode(error) == ZSTD_error_frameParameter_windowTooLarge) {
            return "the zstd data need a larger window: decompress them with `zstd -d --long=31`";
        }
        return fmt::format("damaged zstd data: {}", ZSTD_getErrorName(error));
    }
};

#else

struct Input::Zstd {
    [[noreturn]] std::size_t fill(std::span<std::byte> /*bytes*/, Input& file) {
        throw carillon::UnsupportedError(file.call(),
                                         "the file is zstd-compressed, and this build has no "
                                         "libzstd: decompress it first (zstd -d)");
    }
};

#endif

Input::Input(std::filesystem::path const& path)
    : call_("read " + (path == "-" ? "standard input" : path.string())), file_(open(path, call_)) {
    std::array<std::byte, sizeof(std::uint32_t)> begin{};
    std::size_t const got = read_all(begin);
    begin_.assign(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(got));
    if (got == begin.size() && is_of_zstd(std::bit_cast<std::uint32_t>(begin))) {
        zstd_ = std::make_unique<Zstd>();
    }
}

Input::~Input() = default;

std::size_t Input::fill(std::span<std::byte> bytes) {
    std::size_t const got = zstd_ != nullptr ? zstd_->fill(bytes, *this) : read_all(bytes);
    offset_ += got;
    return got;
}

std::size_t Input::read_some(std::span<std::byte> bytes) {
    if (!begin_.empty()) {
        std::size_t const size = std::min(bytes.size(), begin_.size());
        std::copy_n(begin_.begin(), size, bytes.begin());
        begin_.erase(begin_.begin(), begin_.begin() + static_cast<std::ptrdiff_t>(size));
        return size;
    }
    for (;;) {
        ssize_t const n = ::read(file_.get(), bytes.data(), bytes.size());
        if (n >= 0) return static_cast<std::size_t>(n);
        if (errno != EINTR) throw carillon::SystemError(call_, errno);
    }
}

std::size_t Input::read_all(std::span<std::byte> bytes) {
    std::size_t got = 0;
    while (got < bytes.size()) {
        std::size_t const n = read_some(bytes.subspan(got));
        if (n == 0) break;
        got += n;
    }
    return got;
}

}  // namespace dbn
