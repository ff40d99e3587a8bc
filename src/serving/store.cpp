// SPDX-License-Identifier: Apache-2.0
#include "carillon/store.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "serving/buffer_access.hpp"
#include "serving/buffer_table.hpp"
#include "serving/link.hpp"

namespace carillon {
using detail::BufferAccess;
using detail::BufferMaker;
using detail::in_call_to;
using detail::key_of;
using detail::NewsKind;

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
Store::Store(std::shared_ptr<detail::BufferAccess> access) : access_(std::move(access)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&& other) noexcept {
    if (this != &other) {
        Store const before(std::move(*this));
        access_ = std::move(other.access_);
    }
    return *this;
}
Store::~Store() {
    if (access_ != nullptr && !access_->inherited()) access_->close();
}

Buffer Store::create(NameArgument name, std::size_t bytes) const {
    return in_call_to("Store::create", access_, [&](BufferAccess& access) {
        detail::require_buffer(name, bytes);
        return BufferMaker::make<Buffer>(access.create(std::string(name), bytes));
    });
}

Buffer Store::get(std::uint64_t id) const {
    return in_call_to("Store::get", access_, [&](BufferAccess& access) {
        return BufferMaker::make<Buffer>(access.get(key_of(id)));
    });
}
Buffer Store::get(NameArgument name) const {
    return in_call_to("Store::get", access_, [&](BufferAccess& access) {
        return BufferMaker::make<Buffer>(access.get(key_of(name)));
    });
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
    return BufferMaker::make<SealedEvents>(
        in_call_to("Store::sealed_events", access_, &BufferAccess::news, NewsKind::told));
}

SealedBuffers Store::sealed_buffers() const {
    return BufferMaker::make<SealedBuffers>(
        in_call_to("Store::sealed_buffers", access_, &BufferAccess::news, NewsKind::brought));
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

}  // namespace carillon
