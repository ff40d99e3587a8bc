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
    : CopyKernel(device,
                 {options.blocks, options.threads, options.start_timeout, options.stop_timeout,
                  options.lifetime},
                 most_threads_of<ReaderBody>, buffer_size(options)),
      largest_(options.largest),
      lines_(largest_in_lines) {}

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
    if (queue().done() != queue().sent()) [[unlikely]] {
        Deadline const deadline(timeout);
        await_replies(timeout);
        timeout = deadline.left();
    }
    arrived_ = 0;
    queue().begin_again();
    return size <= lines_.size() ? read_lines(address, size, timeout)
                                 : read_shares(address, size, timeout);
}

std::span<std::byte const> ReaderClient::read_lines(std::uintptr_t address, std::size_t size,
                                                    std::chrono::nanoseconds timeout) {
    send({address, 0, size}, lines_for(size));
    queue().commit();
    await_replies(timeout);
    return std::span(lines_).first(size);
}

std::span<std::byte const> ReaderClient::read_shares(std::uintptr_t address, std::size_t size,
                                                     std::chrono::nanoseconds timeout) {
    std::size_t const phase = address % vector_bytes;
    std::uintptr_t const to = reinterpret_cast<std::uintptr_t>(buffer().device_ptr()) + phase;
    std::size_t const even = (size + queue().blocks() - 1) / queue().blocks();
    std::size_t const share =
        std::max((even + share_unit - 1) / share_unit * share_unit, smallest_share);
    // All requests leave with one fence, and one release orders them behind earlier copies.
    for (std::size_t offset = 0; offset < size; offset += share) {
        send({address + offset, to + offset, std::min(share, size - offset)}, 1);
    }
    queue().commit();
    await_replies(timeout);
    return {static_cast<std::byte const*>(buffer().host_ptr()) + phase, size};
}

void ReaderClient::send(CopyRequest const& request, std::uint32_t lines) {
    // There is room while at most one read is outstanding.
    if (!queue().try_send(request, lines)) throw TimeoutError("no slot came free");
}

void ReaderClient::await_replies(std::chrono::nanoseconds timeout) {
    auto const keep = [&](auto const& message) {
        if (arrived_ + payload_bytes > lines_.size()) return;
        auto const reply = unpack<CopyReply>(message);
        std::memcpy(lines_.data() + arrived_, reply.bytes, payload_bytes);
        arrived_ += payload_bytes;
    };
    auto const all_here = [&] {
        queue().take_replies(keep);
        return queue().done() == queue().sent();
    };
    if (wait_until(all_here, timeout)) return;
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
    require(memory, offset, size);
    return read(reinterpret_cast<std::uintptr_t>(memory.device_ptr()) + offset, size, timeout);
}

}  // namespace detail
}  // namespace carillon
