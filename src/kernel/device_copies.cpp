// SPDX-License-Identifier: Apache-2.0
// The CPU's side of the kernel that copies, of DeviceReader and of DeviceWriter.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "carillon/copy.hpp"
#include "carillon/detail/host/copy_kernel.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/device_reader.hpp"
#include "carillon/device_writer.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

// Returns the options. Throws UsageError.
KernelOptions const& checked(KernelOptions const& options, unsigned threads,
                             unsigned most_threads) {
    check_options(options);
    if (threads != 0 && threads % 32 == 0 && threads <= most_threads) return options;
    throw UsageError(
        fmt::format("{} threads requested: a block has a multiple of 32, from 32 to {}", threads,
                    most_threads));
}

// The least share of a block, if possible: what its threads load at once.
constexpr std::size_t smallest_share = 4096;

// The size of the buffer that receives reads. Throws UsageError, OutOfMemoryError.
std::size_t buffer_size(DeviceReaderOptions const& options) {
    if (options.largest == 0)
        throw UsageError("the largest read (DeviceReaderOptions::largest) is 0 bytes");
    return sum_of_sizes(options.largest, CopyKernel::vector_bytes);
}

// A piece is at least what a block's threads load at once, and at most what takes a few hundred
// microseconds, after which the block looks for a stop.
constexpr std::size_t smallest_piece = 8192;
constexpr std::size_t largest_piece = std::size_t{8} << 20;

[[nodiscard]] std::size_t in_units(std::size_t size) {
    constexpr std::size_t unit = CopyKernel::share_unit;
    return (size + unit - 1) / unit * unit;
}

// Bytes from one chunk to the next. Throws UsageError; the allocation refuses too large sizes.
std::size_t stride_of(DeviceWriterOptions const& options) {
    if (options.chunk == 0) throw UsageError("a chunk (DeviceWriterOptions::chunk) is 0 bytes");
    if (options.chunks == 0) throw UsageError("DeviceWriterOptions::chunks is 0");
    if (options.chunk > PTRDIFF_MAX) return options.chunk;
    return in_units(options.chunk + CopyKernel::vector_bytes);
}

std::size_t all_chunks(std::size_t stride, unsigned chunks) {
    return chunks <= PTRDIFF_MAX / stride ? stride * chunks : SIZE_MAX;
}

}  // namespace

CopyKernel::CopyKernel(Device const& device, KernelOptions const& options, unsigned threads,
                       unsigned most_threads, std::size_t buffer_size)
    : device_(device),
      options_(checked(options, threads, most_threads)),
      shape_(launch_shape(options_, threads)),
      buffer_(device.allocate_host(buffer_size)),
      channels_(std::make_shared<ChannelMemory>(device, blocks_of(options), capacity)),
      queue_(device.access(channels_->device_memory()), channels_->device_memory().host_ptr(),
             channels_->device_memory().size()),
      wait_(HostWait::for_kernel(device.traits(), blocks_of(options))),
      kernel_(KernelSupervisor::make(device_, channels_, options_)) {
    HostMapped const far = device.access(channels_->device_memory());
    for (unsigned i = 0; i < blocks_of(options); ++i) {
        ChannelView const view = channels_->host_view().channel(i);
        queue_.add_block(Queue::Requests(view.requests, far, HostCached()),
                         Queue::Replies(view.replies, HostCached(), far));
    }
}

CopyBlocks CopyKernel::blocks() const { return {kernel_blocks(device_, options_, *channels_)}; }

void CopyKernel::require(Memory const& memory, std::size_t offset, std::size_t size) const {
    require_range(offset, size, memory.size());
    if (size != 0 && !device_.owns(memory))
        throw UsageError("the memory belongs to another device");
}

ReaderClient::ReaderClient(Device const& device, DeviceReaderOptions const& options)
    : CopyKernel(device, std::type_identity<ReaderBody>(), options, buffer_size(options)),
      largest_(options.largest),
      lines_(largest_in_lines) {}

std::span<std::byte const> ReaderClient::read(void const* where, std::size_t size,
                                              std::chrono::nanoseconds timeout) {
    if (where == nullptr && size != 0) {
        throw UsageError(fmt::format("{} bytes requested at a null pointer", size));
    }
    OneThreadCall<> const one(this);
    kernel().require_open();
    if (size > largest_) {
        throw UsageError(fmt::format(
            "{} bytes requested, but the largest read is {} (DeviceReaderOptions::largest)", size,
            largest_));
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
    auto const address = reinterpret_cast<std::uintptr_t>(where);
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
    std::size_t const share = std::max(in_units(even), smallest_share);
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
    if (!queue().try_send(request, lines)) throw TimeoutError("no slot is free");
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
    throw TimeoutError("the device did not send the bytes within ", timeout, "");
}

std::span<std::byte const> ReaderClient::read(Memory const& memory, std::size_t offset,
                                              std::size_t size, std::chrono::nanoseconds timeout) {
    require(memory, offset, size);
    return read(static_cast<std::byte const*>(memory.device_ptr()) + offset, size, timeout);
}

WriterClient::WriterClient(Device const& device, DeviceWriterOptions const& options)
    : CopyKernel(device, std::type_identity<WriterBody>(), options,
                 all_chunks(stride_of(options), options.chunks)),
      chunk_(options.chunk),
      stride_(stride_of(options)),
      used_by_(options.chunks) {}

WriterClient::Copy WriterClient::copy(Memory const& to, std::size_t offset,
                                      std::span<std::byte const> from) const {
    require(to, offset, from.size());
    return copy(static_cast<std::byte*>(to.device_ptr()) + offset, from);
}

WriterClient::Copy WriterClient::copy(Memory const& to, std::size_t offset, Memory const& from,
                                      std::size_t from_offset, std::size_t size) const {
    require(to, offset, size);
    require(from, from_offset, size);
    return copy(static_cast<std::byte*>(to.device_ptr()) + offset,
                static_cast<std::byte const*>(from.device_ptr()) + from_offset, size);
}

WriterClient::Copy WriterClient::copy(void* to, std::span<std::byte const> from) {
    Copy all = copy(to, from.data(), from.size());
    all.host = from.data();
    return all;
}

WriterClient::Copy WriterClient::copy(void* to, void const* from, std::size_t size) {
    if (size > PTRDIFF_MAX) {
        throw UsageError(fmt::format("{} bytes are more than a program can address", size));
    }
    if (size != 0 && (to == nullptr || from == nullptr)) {
        throw UsageError(fmt::format("{} bytes cannot be copied {} a null pointer", size,
                                     to == nullptr ? "to" : "from"));
    }
    return {.to = reinterpret_cast<std::uintptr_t>(to),
            .from = reinterpret_cast<std::uintptr_t>(from),
            .left = size};
}

void WriterClient::write(Copy copy, std::chrono::nanoseconds timeout) {
    OneThreadCall<> const one(this);
    begin(copy);
    if (copy.left == 0) return;
    auto const all_there = [&] {
        ask(copy);
        return copy.left == 0 && queue().done() == queue().sent();
    };
    wait_or_give_up(all_there, timeout);
}

Ticket WriterClient::submit(Copy copy, std::chrono::nanoseconds timeout) {
    OneThreadCall<> const one(this);
    begin(copy);
    auto const all_asked_for = [&] {
        ask(copy);
        return copy.left == 0;
    };
    wait_or_give_up(all_asked_for, timeout);
    return {issuer_, queue().sent()};
}

bool WriterClient::try_wait(Ticket const& ticket) {
    OneThreadCall<> const one(this);
    if (is_there(valid(ticket))) return true;
    kernel().require_open();
    return false;
}

void WriterClient::wait(Ticket const& ticket, std::chrono::nanoseconds timeout) {
    OneThreadCall<> const one(this);
    std::uint64_t const last = valid(ticket);
    if (is_there(last)) return;
    kernel().require_open();
    wait_for([&] { return is_there(last); }, timeout);
}

void WriterClient::copy_to_device(Copy const& copy, Memory const& to, std::size_t offset,
                                  std::span<std::byte const> from, std::size_t least,
                                  std::chrono::nanoseconds timeout) {
    // "Device memory" that is the host's is the CPU's own.
    bool const by_cpu = from.size() < least || device().info().memory_source == MemorySource::host;
    if (!by_cpu) return write(copy, timeout);
    carillon::copy_to_device(to, offset, from);
}

void WriterClient::begin(Copy& copy) {
    kernel().require_open();
    copy.piece = piece_of(copy.left);
}

void WriterClient::ask(Copy& copy) {
    queue().take_replies();
    // A copy that was given up may still write to the same place.
    if (queue().done() < given_up_) return;
    copy.host == nullptr ? ask_for_pieces(copy) : ask_for_a_chunk(copy);
}

void WriterClient::ask_for_pieces(Copy& copy) {
    std::uint64_t const before = queue().sent();
    while (copy.left != 0) {
        std::size_t const size = std::min(copy.left, copy.piece);
        if (!queue().try_send({copy.from, copy.to, size})) break;
        copy.from += size;
        copy.to += size;
        copy.left -= size;
    }
    if (queue().sent() != before) queue().commit();
}

// Asks for one chunk: the device fetches it while the next one is filled.
void WriterClient::ask_for_a_chunk(Copy& copy) {
    if (copy.left == 0 || queue().done() < used_by_[next_chunk_] || queue().was_full()) return;
    std::size_t const size = std::min(copy.left, chunk_);
    std::size_t const at = next_chunk_ * stride_ + copy.to % CopyKernel::vector_bytes;
    std::memcpy(static_cast<std::byte*>(buffer().host_ptr()) + at, copy.host, size);
    auto const from = reinterpret_cast<std::uintptr_t>(buffer().device_ptr()) + at;
    if (!queue().try_send({from, copy.to, size})) return;
    queue().commit();
    used_by_[next_chunk_] = queue().sent();
    next_chunk_ = (next_chunk_ + 1) % used_by_.size();
    copy.host += size;
    copy.to += size;
    copy.left -= size;
}

// The size of pieces: equally many for each block, all of one size but the last.
std::size_t WriterClient::piece_of(std::size_t size) const {
    std::size_t const blocks = queue().blocks();
    std::size_t const most = blocks * largest_piece;
    std::size_t const rounds = std::max<std::size_t>((size + most - 1) / most, 1);
    std::size_t const pieces = rounds * blocks;
    return std::max(in_units((size + pieces - 1) / pieces), smallest_piece);
}

std::uint64_t WriterClient::valid(Ticket const& ticket) const {
    if (ticket.issuer() == issuer_) return ticket.number();
    throw UsageError("the ticket belongs to another writer");
}

bool WriterClient::is_there(std::uint64_t piece) {
    queue().take_replies();
    return queue().done() >= piece;
}

template <class Poll>
void WriterClient::wait_for(Poll&& poll, std::chrono::nanoseconds timeout) {
    if (wait_until(poll, timeout)) return;
    throw TimeoutError("the device did not finish the copy within ", timeout, "");
}

template <class Poll>
void WriterClient::wait_or_give_up(Poll&& poll, std::chrono::nanoseconds timeout) {
    try {
        wait_for(poll, timeout);
    } catch (...) {
        given_up_ = queue().sent();
        throw;
    }
}

}  // namespace carillon::detail
