// SPDX-License-Identifier: Apache-2.0
#include "carillon/buffer.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "carillon/error.hpp"
#include "error/range.hpp"
#include "serving/buffer_access.hpp"

namespace carillon {

Buffer::Buffer(std::shared_ptr<detail::BufferHold> hold) : hold_(std::move(hold)) {}

detail::BufferHold& Buffer::hold(char const* call) const {
    detail::BufferHold& hold = detail::owned(hold_, call);
    hold.require_own(call);
    return hold;
}

std::uint64_t Buffer::id() const { return hold("Buffer::id").id(); }
std::string const& Buffer::name() const { return hold("Buffer::name").name(); }
std::size_t Buffer::size() const { return hold("Buffer::size").size(); }
bool Buffer::is_cpu() const { return hold("Buffer::is_cpu").of_host(); }

std::span<std::byte const> Buffer::data() const {
    constexpr char const* call = "Buffer::data";
    detail::BufferHold const& held = hold(call);
    return {held.host(call), held.size()};
}

void const* Buffer::device_ptr() const {
    constexpr char const* call = "Buffer::device_ptr";
    return hold(call).device_ptr(call);
}

void Buffer::read(std::span<std::byte> to, std::size_t offset) const {
    constexpr char const* call = "Buffer::read";
    detail::BufferHold const& held = hold(call);
    detail::require_range(call, offset, to.size(), held.size());
    detail::require_bytes_there(call, to);
    if (!to.empty()) held.read(to, offset);
}

MutableBuffer::MutableBuffer(std::shared_ptr<detail::BufferHold> hold) : hold_(std::move(hold)) {}
MutableBuffer::MutableBuffer(MutableBuffer&&) noexcept = default;
MutableBuffer& MutableBuffer::operator=(MutableBuffer&&) noexcept = default;
MutableBuffer::~MutableBuffer() = default;

detail::BufferHold& MutableBuffer::hold(char const* call) const {
    if (sealed_) throw UsageError(call, "the buffer is sealed: nobody writes it any more");
    detail::BufferHold& hold = detail::owned(hold_, call);
    hold.require_own(call);
    return hold;
}

std::uint64_t MutableBuffer::id() const { return hold("MutableBuffer::id").id(); }
std::string const& MutableBuffer::name() const { return hold("MutableBuffer::name").name(); }
std::size_t MutableBuffer::size() const { return hold("MutableBuffer::size").size(); }
bool MutableBuffer::is_cpu() const { return hold("MutableBuffer::is_cpu").of_host(); }

std::span<std::byte> MutableBuffer::mutable_data() const {
    constexpr char const* call = "MutableBuffer::mutable_data";
    detail::BufferHold const& held = hold(call);
    return {held.host(call), held.size()};
}

void* MutableBuffer::device_ptr() const {
    constexpr char const* call = "MutableBuffer::device_ptr";
    return hold(call).device_ptr(call);
}

void MutableBuffer::write(std::span<std::byte const> from, std::size_t offset) {
    constexpr char const* call = "MutableBuffer::write";
    detail::BufferHold const& held = hold(call);
    detail::require_range(call, offset, from.size(), held.size());
    detail::require_bytes_there(call, from);
    (void)held.host(call);
    if (!from.empty()) held.write(offset, from);
}

Buffer MutableBuffer::seal() {
    hold("MutableBuffer::seal").seal();
    sealed_ = true;
    return Buffer(std::move(hold_));
}

HostMirror::HostMirror(MutableBuffer& buffer, MirrorOptions const& options)
    : bytes_(buffer.size()), to_(buffer.hold_) {
    constexpr char const* call = "HostMirror";
    detail::BufferHold& held = buffer.hold(call);
    if (options.read) {
        (void)held.host(call);
        held.read(bytes_, 0);
    }
    writes_back_ = options.write_back;
    if (writes_back_) held.await_mirror();
}

HostMirror::HostMirror(Buffer const& buffer) : bytes_(buffer.size()) { buffer.read(bytes_); }

HostMirror::~HostMirror() {
    try {
        if (writes_back_) write_back();
    } catch (std::exception const&) {  // the buffer has gone, or may be sealed
    }
}

void HostMirror::write_back() {
    constexpr char const* call = "HostMirror::write_back";
    if (wrote_back_) throw UsageError(call, "it was called before: a mirror writes back once");
    if (!writes_back_) throw UsageError(call, "there is no buffer to write back to");
    auto const to = to_.lock();
    if (to == nullptr) throw UsageError(call, "the buffer has gone");
    to->require_own(call);
    writes_back_ = false;
    wrote_back_ = true;
    to->forget_mirror();
    (void)to->host(call);
    to->write(0, bytes_);
}

SealedEvents::SealedEvents(std::unique_ptr<Source> source) : source_(std::move(source)) {}
SealedEvents::SealedEvents(SealedEvents&&) noexcept = default;
SealedEvents& SealedEvents::operator=(SealedEvents&&) noexcept = default;
SealedEvents::~SealedEvents() = default;

SealedEvents::Source& SealedEvents::source(char const* call) const {
    Source& source = detail::owned(source_, call);
    source.require_own(call);
    return source;
}

int SealedEvents::descriptor() const {
    constexpr char const* call = "SealedEvents::descriptor";
    return source(call).descriptor(call);
}

std::optional<SealedBuffer> SealedEvents::next(std::chrono::nanoseconds timeout) {
    constexpr char const* call = "SealedEvents::next";
    return source(call).next(call, timeout);
}

SealedBuffers::SealedBuffers(std::unique_ptr<Source> source) : source_(std::move(source)) {}
SealedBuffers::SealedBuffers(SealedBuffers&&) noexcept = default;
SealedBuffers& SealedBuffers::operator=(SealedBuffers&&) noexcept = default;
SealedBuffers::~SealedBuffers() = default;

SealedBuffers::Source& SealedBuffers::source(char const* call) const {
    Source& source = detail::owned(source_, call);
    source.require_own(call);
    return source;
}

int SealedBuffers::descriptor() const {
    constexpr char const* call = "SealedBuffers::descriptor";
    return source(call).descriptor(call);
}

std::optional<Buffer> SealedBuffers::next(std::chrono::nanoseconds timeout) {
    constexpr char const* call = "SealedBuffers::next";
    auto hold = source(call).next(call, timeout);
    if (!hold) return {};
    return detail::BufferMaker::make(*std::move(hold));
}

std::uint64_t SealedBuffers::missed() const { return source("SealedBuffers::missed").missed(); }

}  // namespace carillon
