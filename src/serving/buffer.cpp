// SPDX-License-Identifier: Apache-2.0
#include "carillon/buffer.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "carillon/error.hpp"
#include "error/range.hpp"
#include "serving/buffer_access.hpp"

namespace carillon {
using detail::BufferHold;
using detail::in_call;
using detail::in_call_to;

Buffer::Buffer(std::shared_ptr<BufferHold> hold) : hold_(std::move(hold)) {}

std::uint64_t Buffer::id() const { return in_call_to("Buffer::id", hold_, &BufferHold::id); }
std::string const& Buffer::name() const {
    return in_call_to("Buffer::name", hold_, &BufferHold::name);
}
std::size_t Buffer::size() const { return in_call_to("Buffer::size", hold_, &BufferHold::size); }
bool Buffer::is_cpu() const { return in_call_to("Buffer::is_cpu", hold_, &BufferHold::of_host); }

std::span<std::byte const> Buffer::data() const {
    return in_call_to("Buffer::data", hold_, &BufferHold::host);
}

void const* Buffer::device_ptr() const {
    return in_call_to("Buffer::device_ptr", hold_, &BufferHold::device_ptr);
}

void Buffer::read(std::span<std::byte> to, std::size_t offset) const {
    in_call_to("Buffer::read", hold_, [&](BufferHold const& held) {
        detail::require_range(offset, to.size(), held.size());
        detail::require_bytes_there(to);
        if (!to.empty()) held.read(to, offset);
    });
}

MutableBuffer::MutableBuffer(std::shared_ptr<BufferHold> hold) : hold_(std::move(hold)) {}
MutableBuffer::MutableBuffer(MutableBuffer&&) noexcept = default;
MutableBuffer& MutableBuffer::operator=(MutableBuffer&&) noexcept = default;
MutableBuffer::~MutableBuffer() = default;

BufferHold& MutableBuffer::hold() const {
    if (sealed_) throw UsageError("the buffer is sealed: nobody writes it any more");
    return detail::owned_here(hold_);
}

std::uint64_t MutableBuffer::id() const {
    return in_call("MutableBuffer::id", [&] { return hold().id(); });
}
std::string const& MutableBuffer::name() const {
    return in_call(
        "MutableBuffer::name", [&]() -> auto const& { return hold().name(); });
}
std::size_t MutableBuffer::size() const {
    return in_call("MutableBuffer::size", [&] { return hold().size(); });
}
bool MutableBuffer::is_cpu() const {
    return in_call("MutableBuffer::is_cpu", [&] { return hold().of_host(); });
}

std::span<std::byte> MutableBuffer::mutable_data() const {
    return in_call("MutableBuffer::mutable_data", [&] { return hold().host(); });
}

void* MutableBuffer::device_ptr() const {
    return in_call("MutableBuffer::device_ptr", [&] { return hold().device_ptr(); });
}

void MutableBuffer::write(std::span<std::byte const> from, std::size_t offset) {
    in_call("MutableBuffer::write", [&] {
        BufferHold const& held = hold();
        detail::require_range(offset, from.size(), held.size());
        detail::require_bytes_there(from);
        (void)held.host();
        if (!from.empty()) held.write(offset, from);
    });
}

Buffer MutableBuffer::seal() {
    return in_call("MutableBuffer::seal", [&] {
        hold().seal();
        sealed_ = true;
        return Buffer(std::move(hold_));
    });
}

HostMirror::HostMirror(MutableBuffer& buffer, MirrorOptions const& options) try
    : bytes_(buffer.size()), to_(buffer.hold_) {
    BufferHold& held = buffer.hold();
    if (options.read) {
        (void)held.host();
        held.read(bytes_, 0);
    }
    writes_back_ = options.write_back;
    if (writes_back_) held.await_mirror();
} catch (...) {
    detail::throw_named("HostMirror");
}

HostMirror::HostMirror(Buffer const& buffer) try : bytes_(buffer.size()) {
    buffer.read(bytes_);
} catch (...) {
    detail::throw_named("HostMirror");
}

HostMirror::~HostMirror() {
    try {
        if (writes_back_) write_back();
    } catch (std::exception const&) {  // the buffer has gone, or may be sealed
    }
}

void HostMirror::write_back() {
    in_call("HostMirror::write_back", [&] {
        if (wrote_back_) throw UsageError("it was called before: a mirror writes back once");
        if (!writes_back_) throw UsageError("there is no buffer to write back to");
        auto const to = to_.lock();
        if (to == nullptr) throw UsageError("the buffer has gone");
        to->require_own();
        writes_back_ = false;
        wrote_back_ = true;
        to->forget_mirror();
        (void)to->host();
        to->write(0, bytes_);
    });
}

SealedEvents::SealedEvents(std::unique_ptr<Source> source) : source_(std::move(source)) {}
SealedEvents::SealedEvents(SealedEvents&&) noexcept = default;
SealedEvents& SealedEvents::operator=(SealedEvents&&) noexcept = default;
SealedEvents::~SealedEvents() = default;

int SealedEvents::descriptor() const {
    return in_call_to("SealedEvents::descriptor", source_, &Source::descriptor);
}

std::optional<SealedBuffer> SealedEvents::next(std::chrono::nanoseconds timeout) {
    return in_call_to("SealedEvents::next", source_, &Source::next, timeout);
}

SealedBuffers::SealedBuffers(std::unique_ptr<Source> source) : source_(std::move(source)) {}
SealedBuffers::SealedBuffers(SealedBuffers&&) noexcept = default;
SealedBuffers& SealedBuffers::operator=(SealedBuffers&&) noexcept = default;
SealedBuffers::~SealedBuffers() = default;

int SealedBuffers::descriptor() const {
    return in_call_to("SealedBuffers::descriptor", source_, &Source::descriptor);
}

std::optional<Buffer> SealedBuffers::next(std::chrono::nanoseconds timeout) {
    auto hold = in_call_to("SealedBuffers::next", source_, &Source::next, timeout);
    if (!hold) return {};
    return detail::BufferMaker::make<Buffer>(*std::move(hold));
}

std::uint64_t SealedBuffers::missed() const {
    return in_call_to("SealedBuffers::missed", source_, &Source::missed);
}

}  // namespace carillon
