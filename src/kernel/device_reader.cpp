// SPDX-License-Identifier: Apache-2.0
#include "carillon/device_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon {
namespace {

// The least share of a block, if possible: what its threads load at once.
constexpr std::size_t smallest_share = 4096;

// The size of the buffer that receives reads. Throws UsageError, OutOfMemoryError.
std::size_t buffer_size(DeviceReaderOptions const& options) {
    if (options.largest == 0) throw UsageError("the largest read has no bytes");
    return detail::sum_of_sizes(options.largest, detail::CopyKernel::vector_bytes);
}

}  // namespace

namespace detail {

ReaderClient::ReaderClient(Device const& device, DeviceReaderOptions const& options)
    : largest_(options.largest),
      buffer_(device.allocate_host(buffer_size(options))),
      copies_(device,
              {options.blocks, options.threads, options.start_timeout, options.stop_timeout,
               options.lifetime},
              most_threads_of<ReaderBody>),
      lines_(largest_in_lines) {
    for (unsigned i = 0; i < options.blocks; ++i) {
        blocks_.push_back({copies_.requests(i), copies_.replies(i)});
    }
}

std::span<std::byte const> ReaderClient::read(std::uintptr_t address, std::size_t size,
                                              std::chrono::nanoseconds timeout) {
    OneThreadCall<> const one(this);
    kernel().require_open();
    if (size > largest_) {
        throw UsageError(
            fmt::format("{} bytes asked for, the largest read is of {}", size, largest_));
    }
    if (size == 0) return {};
    // A read that was given up may still write to the same memory.
    if (!none_owed()) [[unlikely]] {
        Deadline const deadline(timeout);
        await_replies(timeout);
        timeout = deadline.left();
    }
    arrived_ = 0;
    return size <= lines_.size() ? read_lines(address, size, timeout)
                                 : read_shares(address, size, timeout);
}

std::span<std::byte const> ReaderClient::read_lines(std::uintptr_t address, std::size_t size,
                                                    std::chrono::nanoseconds timeout) {
    send(blocks_.front(), {address, 0, size}, lines_for(size), OutOfLine::written);
    copies_.commit();
    await_replies(timeout);
    return std::span(lines_).first(size);
}

std::span<std::byte const> ReaderClient::read_shares(std::uintptr_t address, std::size_t size,
                                                     std::chrono::nanoseconds timeout) {
    std::size_t const phase = address % CopyKernel::vector_bytes;
    std::uintptr_t const to = reinterpret_cast<std::uintptr_t>(buffer_.device_ptr()) + phase;
    std::size_t const even = (size + blocks_.size() - 1) / blocks_.size();
    constexpr std::size_t unit = CopyKernel::share_unit;
    std::size_t const share = std::max((even + unit - 1) / unit * unit, smallest_share);
    // All requests leave with one fence, and one release orders them behind earlier copies.
    auto data = OutOfLine::written;
    auto block = blocks_.begin();
    for (std::size_t offset = 0; offset < size; offset += share) {
        send(*block++, {address + offset, to + offset, std::min(share, size - offset)}, 1, data);
        data = OutOfLine::none;
    }
    copies_.commit();
    await_replies(timeout);
    return {static_cast<std::byte const*>(buffer_.host_ptr()) + phase, size};
}

void ReaderClient::send(Block& block, CopyRequest const& request, std::uint32_t lines,
                        OutOfLine data) {
    // There is room while at most one read is outstanding.
    if (!block.requests.try_push_uncommitted(request, data)) {
        throw TimeoutError("no slot came free");
    }
    block.owed = lines;
}

bool ReaderClient::none_owed() {
    return std::all_of(blocks_.begin(), blocks_.end(),
                       [](Block const& block) { return block.owed == 0; });
}

void ReaderClient::await_replies(std::chrono::nanoseconds timeout) {
    auto const keep = [&](auto const& message) {
        if (arrived_ + payload_bytes > lines_.size()) return;
        auto const reply = unpack<CopyReply>(message);
        std::memcpy(lines_.data() + arrived_, reply.bytes, payload_bytes);
        arrived_ += payload_bytes;
    };
    auto const all_here = [&] {
        bool all = true;
        for (Block& block : blocks_) {
            while (block.owed != 0 && block.replies.try_consume(keep)) --block.owed;
            all = all && block.owed == 0;
        }
        return all;
    };
    auto const check = [&] { kernel().require_alive(); };
    if (copies_.wait().until(all_here, timeout, check)) return;
    throw TimeoutError("the device has not sent the bytes within the time given");
}

std::span<std::byte const> ReaderClient::read(void const* address, std::size_t size,
                                              std::chrono::nanoseconds timeout) {
    if (address == nullptr && size != 0) {
        throw UsageError(fmt::format("{} bytes asked for, at a null pointer", size));
    }
    return read(reinterpret_cast<std::uintptr_t>(address), size, timeout);
}

std::span<std::byte const> ReaderClient::read(Memory const& memory, std::size_t offset,
                                              std::size_t size, std::chrono::nanoseconds timeout) {
    copies_.require(memory, offset, size);
    return read(reinterpret_cast<std::uintptr_t>(memory.device_ptr()) + offset, size, timeout);
}

}  // namespace detail
}  // namespace carillon
