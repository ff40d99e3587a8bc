// SPDX-License-Identifier: Apache-2.0
#include "carillon/device_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/detail/host/reader_client.hpp"
#include "carillon/error.hpp"
#include "error/range.hpp"
#include "error/sizes.hpp"

namespace carillon {
namespace {

constexpr std::string_view read_call = "DeviceReader::read";

// More than the lines of one reply: the device looks for room where nobody waits for it.
constexpr std::uint32_t capacity = 64;
// Data keep their remainder by this on their way, so that they are copied in vectors.
constexpr std::size_t vector_bytes = 16;
// A block's share of a read is a multiple of the first and, where it can be, at least the second:
// what its threads load in one go.
constexpr std::size_t share_unit = 128;
constexpr std::size_t smallest_share = 4096;

// Throws UsageError for the reader's options.
KernelOptions kernel_options(DeviceReaderOptions const& options) {
    if (options.threads == 0 || options.threads % 32 != 0 || options.threads > 1024) {
        throw UsageError("DeviceReader", fmt::format("{} threads are not a multiple of 32, from 32 "
                                                     "to 1024",
                                                     options.threads));
    }
    if (options.largest == 0) throw UsageError("DeviceReader", "the largest read has no bytes");
    KernelOptions const of_kernel{.blocks = options.blocks,
                                  .capacity = capacity,
                                  .start_timeout = options.start_timeout,
                                  .stop_timeout = options.stop_timeout,
                                  .lifetime = options.lifetime};
    detail::check_options("DeviceReader", of_kernel);
    return of_kernel;
}

}  // namespace

namespace detail {

ReaderClient::ReaderClient(Device const& device, DeviceReaderOptions const& options)
    : device_(device),
      options_(kernel_options(options)),
      shape_{options.blocks, options.threads},
      largest_(options.largest),
      channels_(std::make_shared<ChannelMemory>(device, options.blocks, capacity)),
      buffer_(device.allocate_host(sum_of_sizes("DeviceReader", options.largest, vector_bytes))),
      far_(device.access(channels_->device_memory())),
      wait_(HostWait::for_kernel(device.traits(), options.blocks)),
      lines_(largest_in_lines) {
    for (unsigned i = 0; i < options.blocks; ++i) {
        ChannelView const view = channels_->host_view().channel(i);
        blocks_.push_back({HostProducer<ReadRequest>(view.requests, far_, HostCached()),
                           HostConsumer<ReadReply>(view.replies, HostCached(), far_)});
    }
    kernel_ = KernelSupervisor::make(device_, channels_, options_, "DeviceReader");
}

ReaderBody ReaderClient::body() const {
    return {channels_->device_view(), block_limits(options_, device_.traits()),
            device_.oversubscribed(options_.blocks)};
}

void ReaderClient::require(Memory const& memory, std::size_t offset, std::size_t size) const {
    require_range(read_call, offset, size, memory.size());
    if (size != 0 && !device_.owns(memory)) {
        throw UsageError(read_call, "the memory is another device's");
    }
}

std::span<std::byte const> ReaderClient::read(std::uintptr_t address, std::size_t size,
                                              std::chrono::nanoseconds timeout) {
    OneThreadCall<> const call(this, read_call);
    kernel_->of_this_process(read_call).require_open(read_call);
    if (size > largest_) {
        throw UsageError(read_call, fmt::format("{} bytes asked for, the largest read is of {}",
                                                size, largest_));
    }
    if (size == 0) return {};
    // A read that was given up may still be on its way into the same memory.
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
    commit();
    await_replies(timeout);
    return std::span(lines_).first(size);
}

std::span<std::byte const> ReaderClient::read_shares(std::uintptr_t address, std::size_t size,
                                                     std::chrono::nanoseconds timeout) {
    std::size_t const phase = address % vector_bytes;
    std::uintptr_t const to = reinterpret_cast<std::uintptr_t>(buffer_.device_ptr()) + phase;
    std::size_t const even = (size + blocks_.size() - 1) / blocks_.size();
    std::size_t const share =
        std::max((even + share_unit - 1) / share_unit * share_unit, smallest_share);
    // All requests leave with one fence, and one release orders them behind what was copied.
    auto data = OutOfLine::written;
    auto block = blocks_.begin();
    for (std::size_t offset = 0; offset < size; offset += share) {
        send(*block++, {address + offset, to + offset, std::min(share, size - offset)}, 1, data);
        data = OutOfLine::none;
    }
    commit();
    await_replies(timeout);
    return {static_cast<std::byte const*>(buffer_.host_ptr()) + phase, size};
}

void ReaderClient::send(Block& block, ReadRequest const& request, std::uint32_t lines,
                        OutOfLine data) {
    // There is room while no more than one read is under way.
    if (!block.requests.try_push_uncommitted(request, data)) {
        throw TimeoutError(read_call, "no slot came free");
    }
    block.owed = lines;
}

void ReaderClient::commit() const {
    Memory const& memory = channels_->device_memory();
    far_.commit(memory.host_ptr(), memory.size());
}

bool ReaderClient::none_owed() {
    return std::all_of(blocks_.begin(), blocks_.end(),
                       [](Block const& block) { return block.owed == 0; });
}

void ReaderClient::await_replies(std::chrono::nanoseconds timeout) {
    auto const keep = [&](Line const& line) {
        if (arrived_ + payload_bytes > lines_.size()) return;
        auto const reply = unpack<ReadReply>(line);
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
    auto const check = [&] { kernel_->require_alive(read_call); };
    if (wait_.until(all_here, timeout, check)) return;
    throw TimeoutError(read_call, "the device has not sent the bytes within the time given");
}

std::span<std::byte const> ReaderClient::read(void const* address, std::size_t size,
                                              std::chrono::nanoseconds timeout) {
    if (address == nullptr && size != 0) {
        throw UsageError(read_call, fmt::format("{} bytes asked for, at a null pointer", size));
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
