// SPDX-License-Identifier: Apache-2.0
#include "carillon/store.hpp"

#include <fmt/format.h>

#include "carillon/detail/host/owned.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "serving/buffer_access.hpp"
#include "serving/buffer_table.hpp"
#include "serving/client_messages.hpp"
#include "serving/link.hpp"

namespace carillon {
using detail::BufferAccess;
using detail::BufferHold;
using detail::BufferKey;
using detail::in_call;
using detail::in_call_to;
using detail::NewsSource;
using detail::SealedNews;

namespace {

// Throws UsageError for no name, or none that can be one.
BufferKey key_of(std::string_view name) {
    detail::require_name("buffer", name);
    return {0, std::string(name)};
}

BufferKey key_of(std::uint64_t id) {
    if (id == 0) throw UsageError("no buffer has the number 0");
    return {id};
}

}  // namespace

Store::Store(Device const& device, StoreOptions const& options) try
    : Store(detail::make_store(device, options)) {
} catch (...) {
    detail::throw_named("Store");
}
Store::Store(PathArgument const& path, ConnectOptions const& options) try
    : Store(detail::find_store(detail::Link::connect(path, options))) {
} catch (...) {
    detail::throw_named("Store");
}

Buffer Store::create(NameArgument name, std::size_t bytes) const {
    return in_call_to("Store::create", access_, [&](BufferAccess& access) {
        if (!std::string_view(name).empty()) detail::require_name("buffer", name);
        if (bytes == 0) throw UsageError("0 bytes requested");
        if (bytes > detail::largest_buffer) {
            throw OutOfMemoryError(fmt::format("{} bytes requested, but a buffer has at most {}",
                                               bytes, detail::largest_buffer));
        }
        return Buffer(access.create(std::string(name), bytes));
    });
}

Buffer Store::get(std::uint64_t id) const {
    return in_call_to("Store::get", access_,
                      [&](BufferAccess& access) { return Buffer(access.get(key_of(id))); });
}
Buffer Store::get(NameArgument name) const {
    return in_call_to("Store::get", access_,
                      [&](BufferAccess& access) { return Buffer(access.get(key_of(name))); });
}

void Store::remove(std::uint64_t id) const {
    in_call_to("Store::remove", access_, [&](BufferAccess& access) { access.remove(key_of(id)); });
}
void Store::remove(NameArgument name) const {
    in_call_to("Store::remove", access_,
               [&](BufferAccess& access) { access.remove(key_of(name)); });
}

std::vector<BufferInfo> Store::list() const {
    return in_call_to("Store::list", access_, &BufferAccess::list);
}

SealedEvents Store::sealed_events() const {
    return SealedEvents(
        in_call_to("Store::sealed_events", access_, &BufferAccess::news, SealedNews::words));
}

SealedBuffers Store::sealed_buffers() const {
    return SealedBuffers(
        in_call_to("Store::sealed_buffers", access_, &BufferAccess::news, SealedNews::buffers));
}

Server Store::serve(PathArgument const& path, ServeOptions const& options) const {
    return in_call_to("Store::serve", access_, [&](BufferAccess const& access) {
        (void)access.table();
        ServeOptions named = options;
        if (!named.name) named.name = "store";
        Server server(named);
        server.add(*this);
        server.open(path);
        return server;
    });
}

Doorbell<Direction::to_device>::DeviceEnd Store::sealed_doorbell() const {
    return in_call_to("Store::sealed_doorbell", access_,
                      [](BufferAccess const& access) { return access.table()->doorbell(); });
}

ConnectedOwner const& Store::owner() const {
    return in_call_to("Store::owner", access_, &BufferAccess::owner);
}

std::string Store::why_host_memory() const {
    return in_call_to("Store::why_host_memory", access_, &BufferAccess::why_host_memory);
}

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
    return in_call_to("Buffer::mutable_data", hold_,
                      [](BufferHold const& held) { return held.require_mutable().host(); });
}

void* Buffer::mutable_device_ptr() const {
    return in_call_to("Buffer::mutable_device_ptr", hold_,
                      [](BufferHold const& held) { return held.require_mutable().device_ptr(); });
}

void Buffer::write(std::span<std::byte const> from, std::size_t offset) {
    in_call_to("Buffer::write", hold_, [&](BufferHold const& held) {
        (void)held.require_mutable();
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
        if (wrote_back_) throw UsageError("the mirror has already written back");
        if (!writes_back_) throw UsageError("the mirror has no buffer to write back to");
        auto const to = to_.lock();
        if (to == nullptr) throw UsageError("the buffer was destroyed");
        to->require_own();
        writes_back_ = false;
        wrote_back_ = true;
        to->forget_mirror();
        (void)to->host();
        to->write(0, bytes_);
    });
}

int SealedEvents::descriptor() const {
    return in_call_to("SealedEvents::descriptor", source_, &NewsSource::descriptor);
}

std::optional<SealedBuffer> SealedEvents::next(std::chrono::nanoseconds timeout) {
    auto news = in_call_to("SealedEvents::next", source_, &NewsSource::next, timeout);
    if (!news) return {};
    return std::move(news->told);
}

int SealedBuffers::descriptor() const {
    return in_call_to("SealedBuffers::descriptor", source_, &NewsSource::descriptor);
}

std::optional<Buffer> SealedBuffers::next(std::chrono::nanoseconds timeout) {
    auto news = in_call_to("SealedBuffers::next", source_, &NewsSource::next, timeout);
    if (!news) return {};
    return Buffer(std::move(news->hold));
}

std::uint64_t SealedBuffers::missed() const {
    return in_call_to("SealedBuffers::missed", source_, &NewsSource::missed);
}

}  // namespace carillon
