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

std::uint64_t Buffer::id() const { return in_call_to("Buffer::id", hold_, &BufferHold::id); }
std::string const& Buffer::name() const {
    return in_call_to("Buffer::name", hold_, &BufferHold::name);
}
std::size_t Buffer::size() const { return in_call_to("Buffer::size", hold_, &BufferHold::size); }
bool Buffer::is_mutable() const {
    return in_call_to("Buffer::is_mutable", hold_, &BufferHold::is_mutable);
}
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
        (void)held.host();
        if (!to.empty()) held.read(to, offset);
    });
}

std::span<std::byte> Buffer::mutable_data() const {
    return in_call_to("Buffer::mutable_data", hold_, [](BufferHold const& held) {
        held.require_mutable();
        return held.host();
    });
}

void* Buffer::mutable_device_ptr() const {
    return in_call_to("Buffer::mutable_device_ptr", hold_, [](BufferHold const& held) {
        held.require_mutable();
        return held.device_ptr();
    });
}

void Buffer::write(std::span<std::byte const> from, std::size_t offset) {
    in_call_to("Buffer::write", hold_, [&](BufferHold const& held) {
        held.require_mutable();
        detail::require_range(offset, from.size(), held.size());
        detail::require_bytes_there(from);
        (void)held.host();
        if (!from.empty()) held.write(offset, from);
    });
}

Buffer Buffer::seal() {
    in_call_to("Buffer::seal", hold_, &BufferHold::seal);
    return *this;
}

HostMirror::HostMirror(Buffer const& buffer, MirrorOptions const& options) try
    : bytes_(buffer.size()), to_(buffer.hold_) {
    if (options.read) buffer.read(bytes_);
    writes_back_ = options.write_back && buffer.is_mutable();
    if (writes_back_) buffer.hold_->await_mirror();
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

int SealedEvents::descriptor() const {
    return in_call_to("SealedEvents::descriptor", source_, &detail::NewsSource::descriptor);
}

std::optional<SealedBuffer> SealedEvents::next(std::chrono::nanoseconds timeout) {
    auto news = in_call_to("SealedEvents::next", source_, &detail::NewsSource::next, timeout);
    if (!news) return {};
    return std::move(news->told);
}

int SealedBuffers::descriptor() const {
    return in_call_to("SealedBuffers::descriptor", source_, &detail::NewsSource::descriptor);
}

std::optional<Buffer> SealedBuffers::next(std::chrono::nanoseconds timeout) {
    auto news = in_call_to("SealedBuffers::next", source_, &detail::NewsSource::next, timeout);
    if (!news) return {};
    return detail::BufferMaker::make<Buffer>(std::move(news->hold));
}

std::uint64_t SealedBuffers::missed() const {
    return in_call_to("SealedBuffers::missed", source_, &detail::NewsSource::missed);
}

}  // namespace carillon
